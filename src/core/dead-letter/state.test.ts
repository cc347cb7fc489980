import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LazaretEvent } from '../event/event.ts'
import { createLetter } from './create.ts'
import { REASONS, type Reason } from './reason.ts'
import {
  canTransition,
  DEFAULT_REPLAY_LIMIT,
  LETTER_STATES,
  stateAfterFailure,
  TRANSITIONS,
} from './state.ts'
import { TransitionError, transition } from './transition.ts'

const event: LazaretEvent = {
  v: 1,
  id: 'e1',
  type: 'order.paid',
  channel: 'orders',
  idempotencyKey: 'e1',
  occurredAt: 1,
  headers: {},
  payload: null,
}
const LETTER = createLetter({ event, handler: 'mailer', reason: 'permanent', at: 10 })
const anyState = fc.constantFrom(...LETTER_STATES)
const anyReason = fc.constantFrom(...(Object.keys(REASONS) as Reason[]))

describe('states of a dead letter', () => {
  it('E9: no change of state happens outside the table', () => {
    fc.assert(
      fc.property(anyState, anyState, (from, to) => {
        const letter = { ...LETTER, state: from }
        const isLegal = canTransition(from, to) || (from === to && to !== 'replaying')
        if (isLegal) expect(transition(letter, to, 20).state).toBe(to)
        else expect(() => transition(letter, to, 20)).toThrow(TransitionError)
      }),
      { numRuns: 300 },
    )
  })

  it('E9: no walk, however long, leaves the table', () => {
    fc.assert(
      fc.property(fc.array(anyState), wishes => {
        let letter = LETTER
        for (const wish of wishes) {
          const before = letter.state
          try {
            letter = transition(letter, wish, 20)
          } catch {
            expect(letter.state).toBe(before)
            continue
          }
          expect(before === letter.state || TRANSITIONS[before][letter.state] !== undefined).toBe(true)
        }
      }),
    )
  })

  it('E9: every change has its reason in prose, and none leads to itself', () => {
    for (const state of LETTER_STATES) {
      expect(Object.keys(TRANSITIONS[state])).not.toContain(state)
      for (const why of Object.values(TRANSITIONS[state])) expect(why.length).toBeGreaterThan(10)
    }
  })

  it('K8: at most one replay of a letter is in flight', () => {
    const replaying = transition(LETTER, 'replaying', 20)
    expect(() => transition(replaying, 'replaying', 21)).toThrow(TransitionError)
    expect(() => transition(replaying, 'discarded', 21)).toThrow(TransitionError)
  })

  it('K8: a parked letter is not replayed until a person lifts it out', () => {
    const parked = transition(LETTER, 'parked', 20)
    expect(() => transition(parked, 'replaying', 21)).toThrow(TransitionError)
    expect(transition(transition(parked, 'dead', 21), 'replaying', 22).state).toBe('replaying')
  })

  it('E10: a replay that fails moves the letter back, and any closed letter can open again', () => {
    for (const held of ['dead', 'quarantined', 'parked'] as const) {
      for (const from of ['replaying', 'resolved', 'discarded'] as const)
        expect(canTransition(from, held)).toBe(true)
    }
  })

  it('K8: going to replaying counts the replay, and nothing else does', () => {
    const replaying = transition(LETTER, 'replaying', 20)
    expect(replaying).toMatchObject({ replays: 1, updatedAt: 20 })
    expect(transition(replaying, 'resolved', 30)).toMatchObject({ replays: 1, updatedAt: 30 })
    expect(LETTER).toMatchObject({ replays: 0, updatedAt: 10 })
  })

  it('E9: repeating a change changes nothing, and time never runs back', () => {
    const discarded = transition(LETTER, 'discarded', 20)
    expect(transition(discarded, 'discarded', 30)).toBe(discarded)
    expect(transition(discarded, 'dead', 5).updatedAt).toBe(20)
  })

  it('E9: an illegal change names the letter, both states and what a person can do', () => {
    const resolved = transition(LETTER, 'resolved', 20)
    expect(() => transition(resolved, 'discarded', 21)).toThrow(
      expect.objectContaining({
        code: 'LAZARET_TRANSITION_ILLEGAL',
        retryable: false,
        from: 'resolved',
        to: 'discarded',
        message: `dead letter ${LETTER.id} is resolved and cannot become discarded; its event was handled; nothing is left to discard`,
        needsReopening: false,
      }),
    )
    const parked = { ...LETTER, state: 'parked' as const }
    expect(() => transition(parked, 'replaying', 21)).toThrow(
      expect.objectContaining({
        message: `dead letter ${LETTER.id} is parked and cannot become replaying; reopen it first`,
        needsReopening: true,
      }),
    )
  })
})

describe('the state after a failure', () => {
  it('K5/B8: poison and crash loops are quarantined, however often they were replayed', () => {
    fc.assert(
      fc.property(anyReason, fc.nat(10), (reason, replays) => {
        const isPoison = reason === 'poison' || reason === 'crash_loop'
        expect(stateAfterFailure(reason, replays) === 'quarantined').toBe(isPoison)
      }),
    )
  })

  it('K8: the replay limit parks', () => {
    expect(DEFAULT_REPLAY_LIMIT).toBe(3)
    expect([0, 2, 3, 4].map(replays => stateAfterFailure('permanent', replays))).toEqual([
      'dead',
      'dead',
      'parked',
      'parked',
    ])
    expect(stateAfterFailure('permanent', 1, 1)).toBe('parked')
  })
})
