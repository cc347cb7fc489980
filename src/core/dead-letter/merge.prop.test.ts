import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LazaretEvent } from '../event/event.ts'
import { resolveLetterCaps } from './caps.ts'
import { createLetter } from './create.ts'
import type { AttemptRecord, Cycle, DeadLetter } from './letter.ts'
import { mergeLetter } from './merge.ts'
import type { Reason } from './reason.ts'
import { LETTER_STATES } from './state.ts'

const event: LazaretEvent = {
  v: 1,
  id: 'e1',
  type: 't',
  channel: 'c',
  idempotencyKey: 'e1',
  occurredAt: 1,
  headers: {},
  payload: 0,
}
const CAPS = resolveLetterCaps({ maxAttempts: 3, maxCycles: 4 })

/** Small numbers, so that letters meet: equal times, equal cycles, equal attempts. */
const at = fc.nat(12)
const attempt: fc.Arbitrary<AttemptRecord> = fc.record({
  number: fc.integer({ min: 1, max: 6 }),
  startedAt: at,
  endedAt: fc.option(at, { nil: undefined }),
  failure: fc.constant(undefined),
  delayMs: fc.constant(undefined),
})
const attempts = fc
  .uniqueArray(attempt, { selector: each => each.number, maxLength: 3 })
  .map(list => list.toSorted((a, b) => a.number - b.number))
const reason = fc.constantFrom<Reason>('permanent', 'poison', 'expired')

/** As a consumer sends it: one cycle, just given up on. */
const fresh = fc
  .record({ reason, at, replay: fc.nat(9), attempts, payload: fc.nat(3) })
  .map(({ payload, ...input }) => createLetter({ event: { ...event, payload }, handler: 'h', ...input }))

/** As another store, an import or the spill may hold it: any state, a history of its own. */
const copied = fc
  .tuple(fc.array(fresh, { minLength: 1, maxLength: 8 }), fc.constantFrom(...LETTER_STATES), fc.nat(20))
  .map(([letters, state, later]): DeadLetter => {
    const merged = mergeAll(letters)
    return { ...merged, state, updatedAt: merged.updatedAt + later }
  })
const letter = fc.oneof(fresh, copied)

describe('merging letters', () => {
  it('E9: merging the same letter once more changes nothing', () => {
    fc.assert(
      fc.property(letter, letter, (a, b) => {
        const once = mergeLetter(a, b, CAPS)
        expect(mergeLetter(once, b, CAPS)).toStrictEqual(once)
        expect(mergeLetter(once, once, CAPS)).toStrictEqual(once)
      }),
      { numRuns: 2_000 },
    )
  })

  it('S4: no cycle is lost up to the bound, in whatever order they arrive', () => {
    fc.assert(
      fc.property(fc.array(fresh, { minLength: 1, maxLength: 30 }), letters => {
        const merged = mergeAll(letters)
        const sent = [...new Set(letters.map(each => each.cycle.number))].sort((a, b) => a - b)
        const kept = numbersOf(merged)
        const bounded = sent.length <= 5 ? sent : [sent[0]!, ...sent.slice(-4)]
        expect(kept).toEqual(bounded)
        // One that arrives only after its neighbours were dropped may have been among them: it is not counted.
        expect(merged.droppedCycles).toBeLessThanOrEqual(sent.length - bounded.length)
        expect(merged.droppedCycles > 0).toBe(sent.length > bounded.length)
        expect(merged.endedCycles.every(cycle => cycle.endedAt !== undefined)).toBe(true)
      }),
      { numRuns: 1_000 },
    )
  })

  it('P2: creation stays the earliest, updates never run back, counts never shrink', () => {
    fc.assert(
      fc.property(letter, letter, (a, b) => {
        const merged = mergeLetter(a, b, CAPS)
        expect(merged.createdAt).toBe(Math.min(a.createdAt, b.createdAt))
        expect(merged.updatedAt).toBeGreaterThanOrEqual(a.updatedAt)
        const isBelieved = a.state !== 'replaying' || b.endedCycles.length > 0 || b.replays <= a.replays
        expect(merged.replays).toBeGreaterThanOrEqual(isBelieved ? Math.max(a.replays, b.replays) : a.replays)
        expect(merged.droppedCycles).toBeGreaterThanOrEqual(a.droppedCycles)
        expect(merged.event).toBe(numbersOf(b)[0]! < numbersOf(a)[0]! ? b.event : a.event)
      }),
    )
  })

  it('P2: a cycle told twice keeps the attempts of both and the earliest failure', () => {
    fc.assert(
      fc.property(fresh, fresh, (a, other) => {
        const b = { ...other, cycle: { ...other.cycle, number: a.cycle.number } }
        const { cycle } = mergeLetter(a, b)
        const numbers = new Set([...a.cycle.attempts, ...b.cycle.attempts].map(each => each.number))
        expect(cycle.attempts.map(each => each.number)).toEqual([...numbers].sort((x, y) => x - y))
        expect(cycle.firstFailedAt).toBe(Math.min(a.cycle.firstFailedAt, b.cycle.firstFailedAt))
        expect(cycle.lastFailedAt).toBe(Math.max(a.cycle.lastFailedAt, b.cycle.lastFailedAt))
      }),
    )
  })

  it('E10: a stale letter disturbs neither the current cycle nor the state', () => {
    fc.assert(
      fc.property(letter, letter, (a, b) => {
        fc.pre(b.cycle.number < a.cycle.number && b.cycle.lastFailedAt <= a.updatedAt)
        const merged = mergeLetter(a, b, CAPS)
        expect(merged).toMatchObject({ cycle: a.cycle, state: a.state, updatedAt: a.updatedAt })
        const before = new Map(a.endedCycles.map(cycle => [cycle.number, cycle]))
        for (const cycle of merged.endedCycles) expect(before.get(cycle.number) ?? cycle).toEqual(cycle)
      }),
    )
  })
})

function mergeAll(letters: readonly DeadLetter[]): DeadLetter {
  return letters.reduce<DeadLetter | undefined>((merged, each) => mergeLetter(merged, each, CAPS), undefined)!
}

function numbersOf(each: DeadLetter): readonly number[] {
  return [...each.endedCycles, each.cycle].map((cycle: Cycle) => cycle.number)
}
