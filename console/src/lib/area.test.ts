import { describe, expect, it } from 'vitest'
import { areaOf } from './area.ts'

describe('a line over time', () => {
  it('K7: goes from the first moment to the last, as high as its share of the highest', () => {
    const points = [
      { at: 1_000, value: 0 },
      { at: 2_000, value: 10 },
      { at: 5_000, value: 5 },
    ]
    expect(areaOf(points, 100, 42)).toEqual({ line: 'M0 42L25 2L100 22', area: 'M0 42L25 2L100 22V42H0z' })
  })

  it('K7: of one moment is level, and of none is nothing', () => {
    expect(areaOf([{ at: 1, value: 3 }], 100, 42).line).toBe('M0 2L100 2')
    expect(areaOf([], 100, 42)).toEqual({ line: '', area: '' })
    expect(areaOf([{ at: 1, value: 0 }], 100, 42).line).toBe('M0 42L100 42')
  })
})
