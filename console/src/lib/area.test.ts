import { describe, expect, it } from 'vitest'
import { areaOf } from './area.ts'

describe('an area chart', () => {
  it('K7: goes from the first time to the last, with heights relative to the maximum', () => {
    const points = [
      { at: 1_000, value: 0 },
      { at: 2_000, value: 10 },
      { at: 5_000, value: 5 },
    ]
    expect(areaOf(points, 100, 42)).toEqual({ line: 'M0 42L25 2L100 22', area: 'M0 42L25 2L100 22V42H0z' })
  })

  it('K7: is flat for one point, and empty without points', () => {
    expect(areaOf([{ at: 1, value: 3 }], 100, 42).line).toBe('M0 2L100 2')
    expect(areaOf([], 100, 42)).toEqual({ line: '', area: '' })
    expect(areaOf([{ at: 1, value: 0 }], 100, 42).line).toBe('M0 42L100 42')
  })
})
