import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFactory } from '../../testing/factories.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { beginningOf, releaseMarks } from './group-beginning.ts'
import type { DeadLetter } from './letter.ts'

const { letter } = createFactory({ clock: new FakeClock() })
const TEMPLATE = letter()
const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS
const NOON = Date.UTC(2026, 4, 4, 12)

function failed(
  release: string | undefined,
  firstFailedAt: number,
  lastFailedAt = firstFailedAt,
): DeadLetter {
  return { ...TEMPLATE, release, cycle: { ...TEMPLATE.cycle, firstFailedAt, lastFailedAt } }
}

const OLD = { release: '2.3.0', startedAt: NOON - 10 * DAY_MS }
const NEW = { release: '2.4.0', startedAt: NOON - 3 * MINUTE_MS }
const evidence = { first: failed('2.4.0', NOON), before: [], hasOlder: false, processes: [OLD, NEW] }

describe('the release with which a group began', () => {
  it('F8: is that of the first letter, counted from the start of its first process', () => {
    expect(beginningOf(evidence)).toEqual({ release: '2.4.0', afterMs: 3 * MINUTE_MS, since: 'process' })
  })

  it('F8: is known by letters alone too, counted from the first of them', () => {
    const before = [failed('2.4.0', NOON - MINUTE_MS), failed('2.3.0', NOON - 5 * MINUTE_MS)]
    expect(beginningOf({ ...evidence, before, processes: [] })).toEqual({
      ...{ release: '2.4.0', afterMs: MINUTE_MS, since: 'letter' },
    })
  })

  it.each<[string, Partial<typeof evidence> & object]>([
    ['without a release', { first: failed(undefined, NOON) }],
    ['when no other release was there before', { processes: [NEW] }],
    ['when the release is older than a day', { processes: [OLD, { ...NEW, startedAt: NOON - 2 * DAY_MS }] }],
    [
      'when the first attempt failed before the release',
      { first: failed('2.4.0', NOON - 4 * MINUTE_MS, NOON) },
    ],
    [
      'of a letter that was replayed since',
      { first: { ...failed('2.4.0', NOON), endedCycles: [TEMPLATE.cycle] } },
    ],
  ])('F8: is not said %s', (_, changed) => {
    expect(beginningOf({ ...evidence, ...changed })).toBeUndefined()
  })

  it('F8: is not said when letters that were not read may be of the release', () => {
    const before = [failed('2.4.0', NOON - MINUTE_MS), failed('2.4.0', NOON - 2 * MINUTE_MS)]
    const other = [{ release: '2.3.0', startedAt: NOON - DAY_MS }]
    const known = { ...evidence, before: before as never[], processes: other }
    expect(beginningOf(known)).toMatchObject({ afterMs: 2 * MINUTE_MS })
    expect(beginningOf({ ...known, hasOlder: true })).toBeUndefined()
  })

  it('F8: is never said against the evidence', () => {
    const release = fc.constantFrom('a', 'b', undefined)
    const at = fc.integer({ min: NOON - 2 * DAY_MS, max: NOON })
    fc.assert(
      fc.property(
        release,
        fc.array(fc.record({ release, at })),
        fc.array(fc.record({ release, startedAt: at })),
        fc.boolean(),
        (own, letters, processes, hasOlder) => {
          const before = letters
            .map(each => failed(each.release, each.at))
            .sort((a, b) => b.cycle.lastFailedAt - a.cycle.lastFailedAt)
          const first = failed(own, NOON)
          const began = beginningOf({ first, before, hasOlder, processes })
          if (began === undefined) return
          const since = NOON - began.afterMs
          const times = [
            ...letters,
            ...processes.map(each => ({ release: each.release, at: each.startedAt })),
          ]
          expect(began.release).toBe(own)
          expect(began.afterMs).toBeLessThanOrEqual(DAY_MS)
          // Nothing of the release is earlier, and something of another one is.
          expect(times.filter(each => each.release === own && each.at < since)).toEqual([])
          expect(
            times.some(each => each.release !== own && each.release !== undefined && each.at < since),
          ).toBe(true)
        },
      ),
    )
  })
})

describe('the marks of releases', () => {
  it('F8: each release has its earliest known time, in the order of time', () => {
    const marks = releaseMarks(
      [failed('2.4.0', NOON), failed('2.5.0', NOON + 1), failed(undefined, NOON)],
      [OLD, NEW],
    )
    expect(marks).toEqual([
      { release: '2.3.0', at: OLD.startedAt, seenBy: 'process' },
      { release: '2.4.0', at: NEW.startedAt, seenBy: 'process' },
      { release: '2.5.0', at: NOON + 1, seenBy: 'letter' },
    ])
  })
})
