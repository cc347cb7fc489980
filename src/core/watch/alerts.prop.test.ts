import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { resolveBy } from '../options/resolve.ts'
import { type Alert, alertKey, alertsOf, crossings, type Measured } from './alerts.ts'
import { type WatchOptions, watchRule } from './options.ts'

const START = 1_767_225_600_000
const MINUTE_MS = 60_000
const limits = (options: WatchOptions = {}) => resolveBy('watch', watchRule, options)

function measured(index: number, more: Partial<Measured> = {}): Measured {
  return { at: START + index * MINUTE_MS, depth: 0, sampled: 0, errors: [], ...more }
}

const ERRORS = ['TypeError', 'TimeoutError'].map(name => ({ fingerprint: name.toLowerCase(), name }))

/** Depths, ages and errors that often stand at a limit or beside it. */
const moment = fc.record({
  depth: fc.constantFrom(0, 99, 100, 101, 5_000),
  ageMs: fc.constantFrom(undefined, 0, 30 * MINUTE_MS, 30 * MINUTE_MS + 1),
  counts: fc.tuple(fc.constantFrom(0, 3, 5, 6, 20), fc.constantFrom(0, 3, 5, 6, 20)),
})
const story = fc.array(moment, { maxLength: 25 }).map(moments =>
  moments.map(({ depth, ageMs, counts }, index) => {
    const at = START + index * MINUTE_MS
    const errors = ERRORS.map((error, which) => ({ ...error, count: counts[which]! }))
    const sampled = counts[0] + counts[1]
    return measured(index, { depth, oldestAt: ageMs === undefined ? undefined : at - ageMs, sampled, errors })
  }),
)

/** The same told step by step, with a state that is carried on. */
function stepByStep(oldestFirst: readonly Measured[], options: WatchOptions): Map<string, number> {
  const { calmAfter, ...rest } = limits(options)
  const standing = new Map<string, { since: number; calm: number }>()
  for (const each of oldestFirst) {
    const crossed = new Set(crossings(each, { ...rest, calmAfter }).map(alertKey))
    for (const key of crossed) standing.set(key, { since: standing.get(key)?.since ?? each.at, calm: 0 })
    for (const [key, state] of standing) {
      if (crossed.has(key)) continue
      state.calm++
      if (state.calm === calmAfter) standing.delete(key)
    }
  }
  return new Map([...standing].map(([key, { since }]) => [key, since]))
}

const byKey = (alerts: readonly Alert[]) => new Map(alerts.map(alert => [alertKey(alert), alert.since]))

describe('limits', () => {
  it('K7: are crossed by more than they are, never by just as much', () => {
    const at = START
    const of = (more: Partial<Measured>) => crossings(measured(0, more), limits()).map(({ rule }) => rule)
    expect(of({ depth: 100 })).toEqual([])
    expect(of({ depth: 101 })).toEqual(['depth'])
    expect(of({ oldestAt: at - 30 * MINUTE_MS })).toEqual([])
    expect(of({ oldestAt: at - 30 * MINUTE_MS - 1 })).toEqual(['age'])
  })

  it('K7: one error dominates that is more than half of more than ten', () => {
    const share = (count: number, sampled: number) =>
      crossings(measured(0, { sampled, errors: [{ ...ERRORS[0]!, count }] }), limits()).map(
        ({ value }) => value,
      )
    expect(share(10, 10)).toEqual([])
    expect(share(11, 11)).toEqual([1])
    expect(share(6, 12)).toEqual([])
    expect(share(7, 12)).toEqual([7 / 12])
  })
})

describe('alerts', () => {
  it('K7: follow from the snapshots alone what a state that is carried on would say', () => {
    fc.assert(
      fc.property(story, fc.integer({ min: 1, max: 5 }), (oldestFirst, calmAfter) => {
        const alerts = alertsOf(oldestFirst.toReversed(), limits({ calmAfter }))
        expect(byKey(alerts)).toEqual(stepByStep(oldestFirst, { calmAfter }))
      }),
    )
  })

  it('K7: the newest few snapshots are enough to know which ones stand', () => {
    fc.assert(
      fc.property(story, oldestFirst => {
        const newestFirst = oldestFirst.toReversed()
        const all = alertsOf(newestFirst, limits())
        const few = alertsOf(newestFirst.slice(0, limits().calmAfter), limits())
        expect(few.map(alertKey)).toEqual(all.map(alertKey))
        for (const [index, alert] of few.entries())
          if (alert.since !== all[index]!.since) expect(alert.isOlder).toBe(true)
      }),
    )
  })

  it('K7: what swings around its limit is told once, and over once it has been calm', () => {
    const depths = [101, 99, 101, 100, 120, 80, 80, 80]
    const standing = depths.map((_, last) => {
      const sofar = depths.slice(0, last + 1).map((depth, index) => measured(index, { depth }))
      return alertsOf(sofar.toReversed(), limits()).length
    })
    expect(standing).toEqual([1, 1, 1, 1, 1, 1, 1, 0])
  })

  it('K7: say how it stands now, be it within the limit again', () => {
    const newestFirst = [measured(1, { depth: 90 }), measured(0, { depth: 400 })]
    expect(alertsOf(newestFirst, limits())).toEqual([
      { rule: 'depth', value: 90, limit: 100, since: START, isOlder: true },
    ])
  })

  it('K7: another error that dominates is another alert', () => {
    const dominated = (index: number, by: number) =>
      measured(index, {
        sampled: 20,
        errors: ERRORS.map((error, which) => ({ ...error, count: which === by ? 15 : 5 })),
      })
    const alerts = alertsOf([dominated(1, 1), dominated(0, 0)], limits())
    expect(alerts.map(alert => [alert.error?.name, alert.value, alert.since - START])).toEqual([
      ['TypeError', 0.25, 0],
      ['TimeoutError', 0.75, MINUTE_MS],
    ])
  })
})
