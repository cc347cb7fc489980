import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { NO_COUNTS, type Stage } from '../ports/replays.ts'
import { haltReason, stageEnds } from './stages.ts'

const stage = fc.oneof(fc.integer({ min: 1, max: 200 }), fc.constant<'rest'>('rest'))

describe('stages', () => {
  it('B11: [1, 10, 100, rest] of 500 end at 1, 11, 111 and 500', () => {
    expect(stageEnds([1, 10, 100, 'rest'], 500)).toEqual([1, 11, 111, 500])
    expect(stageEnds([1, 10, 100, 'rest'], 5)).toEqual([1, 5])
    expect(stageEnds([10], 25)).toEqual([10, 25])
    expect(stageEnds([1], 0)).toEqual([])
  })

  it('B11: whatever the stages, every letter is in exactly one, and the last ends with the last letter', () => {
    fc.assert(
      fc.property(
        fc.array(stage, { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 1, max: 1_000 }),
        (stages, count) => {
          const ends = stageEnds(stages as Stage[], count)
          expect(ends.at(-1)).toBe(count)
          for (const [index, end] of ends.entries()) expect(end).toBeGreaterThan(ends[index - 1] ?? 0)
        },
      ),
    )
  })

  it('B11: the same cause coming back stops a replay that has recovered nothing', () => {
    const rules = { refailRatio: 0.5, onSameFingerprint: true }
    expect(haltReason(rules, NO_COUNTS)).toBeUndefined()
    expect(haltReason(rules, { ...NO_COUNTS, failed_same_cause: 1 })).toContain('not fixed')
    expect(haltReason(rules, { ...NO_COUNTS, failed_same_cause: 1, recovered: 1 })).toBeUndefined()
    expect(
      haltReason(
        { ...rules, onSameFingerprint: false },
        { ...NO_COUNTS, failed_same_cause: 1, recovered: 1 },
      ),
    ).toBeUndefined()
  })

  it('B11: more than the allowed share failing again stops it, exactly then', () => {
    fc.assert(
      fc.property(fc.nat(100), fc.nat(100), fc.nat(100), (recovered, same, fresh) => {
        const rules = { refailRatio: 0.2, onSameFingerprint: false }
        const counts = { ...NO_COUNTS, recovered, failed_same_cause: same, failed_new_cause: fresh }
        const again = same + fresh
        expect(haltReason(rules, counts) !== undefined).toBe(again > 0 && again / (again + recovered) > 0.2)
      }),
    )
  })
})
