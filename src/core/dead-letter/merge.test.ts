import { describe, expect, it } from 'vitest'
import type { LazaretEvent } from '../event/event.ts'
import { classify } from '../failure/classify.ts'
import { createLetter, type LetterInput, summariseFailure } from './create.ts'
import { LetterError } from './errors.ts'
import type { AttemptRecord } from './letter.ts'
import { mergeLetter } from './merge.ts'
import { transition } from './transition.ts'

const event: LazaretEvent = {
  v: 1,
  id: 'e1',
  type: 'order.paid',
  channel: 'orders',
  idempotencyKey: 'e1',
  occurredAt: 1,
  headers: {},
  payload: 'original',
}
const letterOf = (input: Partial<LetterInput> = {}) =>
  createLetter({ event, handler: 'mailer', reason: 'permanent', at: 100, ...input })
const attempt = (number: number): AttemptRecord => ({
  number,
  startedAt: number * 10 - 5,
  endedAt: number * 10,
  failure: undefined,
  delayMs: undefined,
})
const begun = (number: number): AttemptRecord => ({ ...attempt(number), endedAt: undefined })

it('B14: a failure of its replay that is told late does not open a letter that a person discarded after it', () => {
  const replaying = transition(letterOf({ at: 100 }), 'replaying', 200, 'r1')
  const discarded = transition(transition(replaying, 'dead', 250), 'discarded', 300)
  const failedAt = (at: number) => letterOf({ at, replay: 1, replayId: 'r1' })
  expect(mergeLetter(discarded, failedAt(210)).state).toBe('discarded')
  expect(mergeLetter(discarded, failedAt(310)).state).toBe('dead')
})

describe('saving a letter again', () => {
  it('S4: a failed replay becomes the next cycle, the old one joins the ended cycles', () => {
    const first = letterOf({ at: 100, detail: { a: 1 } })
    const replaying = transition(first, 'replaying', 200, 'r1')
    const edited = { ...event, payload: 'edited' }
    const again = letterOf({
      event: edited,
      at: 300,
      replay: 1,
      replayId: 'r1',
      replayedBy: 'ann',
      expiresAt: 900,
    })
    const merged = mergeLetter(replaying, again)
    expect(merged).toMatchObject({ id: first.id, state: 'dead', replays: 1, createdAt: 100, updatedAt: 300 })
    expect(merged.cycle).toEqual(again.cycle)
    expect(merged.endedCycles).toEqual([{ ...first.cycle, endedAt: 300 }])
    expect(merged).toMatchObject({ expiresAt: 900, detail: undefined })
    expect(merged.event.payload).toBe('original')
  })

  it('P2: errors of another event with the same id hide what only that event had', () => {
    const failed = (payload: unknown, message: string, more: Partial<LetterInput> = {}) => {
      const failure = classify(new Error(message))
      const attempts = [{ ...attempt(1), failure: summariseFailure(failure) }]
      return letterOf({ event: { ...event, payload }, failure, attempts, ...more })
    }
    const message = 'no courier for Ada Lovelace in Berlin'
    const first = failed({ name: 'Grace Hopper', city: 'Berlin' }, 'no courier')
    const second = failed({ name: 'Ada Lovelace', city: 'Berlin' }, message, { at: 200 })
    const merged = mergeLetter(first, second)
    expect(merged.event).toBe(first.event)
    expect(merged.cycle.failure?.message).toBe('no courier for *** in Berlin')
    expect(JSON.stringify(merged)).not.toContain('Ada')
    expect(merged.cycle.failure?.fingerprint.id).toBe(second.cycle.failure?.fingerprint.id)
    expect(mergeLetter(merged, second)).toEqual(merged)
    const replayed = failed({ name: 'Ada Lovelace' }, message, { at: 300, replay: 1, replayId: 'r1' })
    const again = mergeLetter(transition(first, 'replaying', 250, 'r1'), replayed)
    expect(again.cycle.failure?.message, 'its replay knows the edit').toBe(message)
    const forged = { ...replayed, cycle: { ...replayed.cycle, replayId: 'r2' } }
    expect(JSON.stringify(mergeLetter(transition(first, 'replaying', 250, 'r1'), forged))).not.toContain(
      'Ada',
    )
  })

  it('R2: a copy without an expiry, such as one of a collector, does not take away the one that the letter has', () => {
    const never = letterOf({ expiresAfterMs: 'never' })
    expect(mergeLetter(never, letterOf({ at: 200 })).expiresAfterMs).toBe('never')
    expect(mergeLetter(never, letterOf({ at: 200, expiresAfterMs: 50 }))).toMatchObject({
      expiresAfterMs: 50,
      expiresAt: 250,
    })
    const back = mergeLetter(letterOf({ expiresAfterMs: 50 }), letterOf({ at: 200, expiresAfterMs: 'never' }))
    expect(back).toMatchObject({ expiresAfterMs: 'never', expiresAt: undefined })
  })

  it('B9: a copy that does not know the ordering keeps that of the letter, and a later one replaces it', () => {
    const first = letterOf({ ordering: 'by-key' })
    expect(mergeLetter(first, letterOf({ at: 200 })).ordering).toBe('by-key')
    expect(mergeLetter(letterOf({ at: 200 }), first).ordering).toBe('by-key')
    const later = letterOf({ at: 200, ordering: 'none' })
    expect(mergeLetter(first, later).ordering).toBe('none')
    expect(mergeLetter(later, first).ordering).toBe('none')
  })

  it('R15: a copy without metadata keeps those of the letter, and later metadata replace them', () => {
    const first = letterOf({ metadata: { tenant: 'acme' } })
    expect(mergeLetter(first, letterOf({ at: 200 })).metadata).toEqual({ tenant: 'acme' })
    expect(mergeLetter(letterOf({ at: 200 }), first).metadata).toEqual({ tenant: 'acme' })
    const later = letterOf({ at: 200, metadata: { tier: 1 } })
    expect(mergeLetter(first, later).metadata).toEqual({ tier: 1 })
    expect(mergeLetter(later, first).metadata).toEqual({ tier: 1 })
  })

  it('K8: the cycle that reaches the replay limit parks the letter', () => {
    expect(mergeLetter(letterOf(), letterOf({ at: 200, replay: 3 }))).toMatchObject({
      state: 'parked',
      replays: 3,
    })
  })

  it('E9: the same cycle told again unites its attempts and believes the later failure', () => {
    const told = letterOf({
      reason: 'attempts_exhausted',
      attempts: [attempt(1), begun(2)],
      at: 100,
    })
    const retold = letterOf({ reason: 'poison', attempts: [attempt(2), attempt(3)], at: 200 })
    const { cycle, state, endedCycles } = mergeLetter(told, retold)
    expect(cycle.attempts).toEqual([attempt(1), attempt(2), attempt(3)])
    expect(cycle).toMatchObject({ reason: 'poison', attemptCount: 3, firstFailedAt: 100, lastFailedAt: 200 })
    expect({ state, endedCycles }).toEqual({ state: 'quarantined', endedCycles: [] })
    expect(mergeLetter(retold, told).cycle).toEqual(cycle)
  })

  it('E9: a duplicate of the first save does not disturb what was decided since', () => {
    const first = letterOf()
    for (const state of ['discarded', 'resolved', 'replaying', 'parked'] as const) {
      const decided = transition(first, state, 200)
      expect(mergeLetter(decided, letterOf())).toStrictEqual(decided)
    }
    const released = transition(letterOf({ reason: 'poison' }), 'dead', 200)
    expect(mergeLetter(released, letterOf({ reason: 'poison' })).state).toBe('dead')
  })

  it('E10: a late duplicate of an earlier cycle only fills its empty place in the history', () => {
    const ahead = letterOf({ at: 300, replay: 1 })
    const filled = mergeLetter(ahead, letterOf({ at: 100 }))
    expect(filled.endedCycles.map(cycle => cycle.number)).toEqual([0])
    expect(filled).toMatchObject({ cycle: ahead.cycle, state: 'dead', updatedAt: 300, createdAt: 100 })
    expect(mergeLetter(filled, letterOf({ at: 100, reason: 'schema' }))).toStrictEqual(filled)
  })

  it('B13: the original event is that of the first cycle, in any order of arrival', () => {
    const edited = letterOf({
      event: { ...event, payload: 'edited' },
      at: 300,
      replay: 1,
      origin: { queue: 'replays' },
    })
    const merged = mergeLetter(edited, letterOf({ origin: { queue: 'orders' } }))
    expect(merged).toMatchObject({ event: { payload: 'original' }, origin: { queue: 'orders' } })
  })

  it('E10: an event that fails after its letter was closed opens it again', () => {
    for (const state of ['resolved', 'discarded'] as const) {
      const closed = transition(letterOf(), state, 200)
      expect(mergeLetter(closed, letterOf({ at: 300 })).state).toBe('dead')
      expect(mergeLetter(closed, letterOf({ at: 300, reason: 'poison' })).state).toBe('quarantined')
      expect(mergeLetter(closed, letterOf({ at: 150 })).state).toBe(state)
      const closedLater = transition(mergeLetter(letterOf(), letterOf({ at: 150, replay: 1 })), state, 200)
      const reopened = mergeLetter(closedLater, letterOf({ at: 300, reason: 'schema' }))
      expect(reopened).toMatchObject({ state: 'dead', updatedAt: 300, cycle: { number: 1 } })
      expect(reopened.endedCycles).toMatchObject([{ number: 0, reason: 'schema', lastFailedAt: 300 }])
    }
  })

  it('K5: failing once more in its cycle does not lift a letter out of quarantine', () => {
    const quarantined = letterOf({ reason: 'poison' })
    expect(mergeLetter(quarantined, letterOf({ at: 200 })).state).toBe('quarantined')
    expect(mergeLetter(letterOf(), quarantined).state).toBe('quarantined')
  })

  it('E10: a late telling of what failed before the replay does not undo the replay', () => {
    const replaying = transition(letterOf({ reason: 'crash_loop', at: 200 }), 'replaying', 300)
    const late = { ...letterOf({ reason: 'attempts_exhausted', at: 150 }), updatedAt: 900 }
    expect(mergeLetter(replaying, late).state).toBe('replaying')
    expect(mergeLetter(transition(replaying, 'resolved', 400), late).state).toBe('resolved')
    const news = letterOf({ reason: 'attempts_exhausted', at: 500 })
    expect(mergeLetter(transition(replaying, 'resolved', 400), news).state).toBe('dead')
  })

  it('B14: a failure that is not of its replay joins the history of a replaying letter, which stays so', () => {
    const replaying = transition(letterOf({ at: 100 }), 'replaying', 200, 'r1')
    for (const other of [
      letterOf({ at: 300 }),
      letterOf({ at: 300, reason: 'poison' }),
      letterOf({ at: 300, replay: 1, replayId: 'forged' }),
      letterOf({ at: 300, replay: 1 }),
      letterOf({ at: 300, replay: 99, replayId: 'r1' }),
    ]) {
      const merged = mergeLetter(replaying, other)
      expect(merged).toMatchObject({ state: 'replaying', replays: 1, replayId: 'r1' })
      expect(merged.cycle).toMatchObject({ number: 0, lastFailedAt: 300, reason: other.cycle.reason })
      expect(transition(merged, 'resolved', 400).state).toBe('resolved')
      const own = letterOf({ at: 400, replay: 1, replayId: 'r1' })
      expect(mergeLetter(merged, own)).toMatchObject({ state: 'dead', cycle: { number: 1 } })
    }
  })

  it('B14: a letter that a sink is sent without a replay keeps no replay id, whatever is told late or forged', () => {
    const failed = mergeLetter(
      transition(letterOf({ at: 100 }), 'replaying', 200, 'r1'),
      letterOf({ at: 210, replay: 1, replayId: 'r1' }),
    )
    const resent = transition(failed, 'replaying', 300)
    expect(resent).toMatchObject({ replays: 2, replayId: undefined })
    const late = letterOf({ at: 210, replay: 1, replayId: 'r1' })
    const forged = letterOf({ at: 310, replay: 2, replayId: 'forged' })
    for (const told of [late, forged])
      expect(mergeLetter(resent, told)).toMatchObject({ state: 'replaying', replays: 2, replayId: undefined })
  })

  it('S4: a copy of a letter with more replays brings the id of the last one', () => {
    const once = transition(letterOf({ at: 100 }), 'replaying', 200, 'r1')
    const failed = mergeLetter(once, letterOf({ at: 210, replay: 1, replayId: 'r1' }))
    const twice = mergeLetter(
      transition(failed, 'replaying', 300, 'r2'),
      letterOf({ at: 310, replay: 2, replayId: 'r2' }),
    )
    expect(mergeLetter(once, twice)).toMatchObject({ state: 'dead', replays: 2, replayId: 'r2' })
    expect(mergeLetter(failed, twice)).toMatchObject({ state: 'dead', replays: 2, replayId: 'r2' })
    expect(mergeLetter(twice, failed)).toMatchObject({ state: 'dead', replays: 2, replayId: 'r2' })
  })

  it('K5: of two tellings of one failure the one that calls it poison counts, whichever comes first', () => {
    const exhausted = { ...letterOf({ reason: 'attempts_exhausted' }), updatedAt: 900 }
    const poison = letterOf({ reason: 'poison' })
    for (const [first, second] of [
      [exhausted, poison],
      [poison, exhausted],
    ] as const)
      expect(mergeLetter(first, second)).toMatchObject({
        state: 'quarantined',
        cycle: { reason: 'poison' },
        updatedAt: 900,
      })
  })

  it('S4: history is bounded: the first and the latest cycles stay, the others are counted', () => {
    let letter = letterOf({ at: 0 })
    for (let replay = 1; replay <= 30; replay++)
      letter = mergeLetter(letter, letterOf({ at: replay, replay }))
    const kept = letter.endedCycles.map(cycle => cycle.number)
    expect(kept).toEqual([0, ...Array.from({ length: 19 }, (_, index) => 11 + index)])
    expect(letter).toMatchObject({ droppedCycles: 10, cycle: { number: 30 } })
    expect(mergeLetter(letter, letterOf({ at: 5, replay: 5 }))).toStrictEqual(letter)
  })

  it('E9: letters of another identity are refused', () => {
    const others = [{ handler: 'sms' }, { channel: 'refunds' }, { event: { ...event, id: 'e2' } }]
    for (const other of others) {
      expect(() => mergeLetter(letterOf(), letterOf(other))).toThrow(LetterError)
    }
  })
})
