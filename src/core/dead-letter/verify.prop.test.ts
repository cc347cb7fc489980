import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LazaretEvent } from '../event/event.ts'
import { createLetter } from './create.ts'
import type { DeadLetter } from './letter.ts'
import { mergeLetter } from './merge.ts'
import { transition } from './transition.ts'
import { splitVerified } from './verify.ts'

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
const dead = createLetter({ event, handler: 'h', reason: 'permanent', at: 100 })
const replaying = transition(dead, 'replaying', 200, 'r1')

const claim = fc
  .record({
    replay: fc.integer({ min: 0, max: 4 }),
    replayId: fc.constantFrom('forged', 'other', 'third'),
    at: fc.integer({ min: 201, max: 209 }),
  })
  .map(({ replay, ...input }) =>
    replay === 0
      ? createLetter({ event, handler: 'h', reason: 'permanent', at: input.at })
      : createLetter({ event, handler: 'h', reason: 'permanent', replay, ...input, isUnverified: true }),
  )
const real = fc.integer({ min: 201, max: 209 }).map(at =>
  createLetter({
    event,
    handler: 'h',
    reason: 'permanent',
    replay: 1,
    replayId: 'r1',
    at,
    isUnverified: true,
  }),
)

/** The stored letter after a spill got all these failures and the store knows the letter again. */
async function afterSpill(told: readonly DeadLetter[]): Promise<DeadLetter> {
  const spilled = told.reduce((known, each) => mergeLetter(known, each))
  const checked = await splitVerified(spilled, async () => replaying)
  return checked.reduce((known, each) => mergeLetter(known, each), replaying)
}

describe('a letter that is replaying while its store is away', () => {
  it('B14: ends its replay when the spill got the real failure among any claims, in any order', async () => {
    const heard = fc
      .tuple(fc.array(claim, { maxLength: 6 }), real, fc.nat(6))
      .map(([claims, failure, place]) => claims.toSpliced(Math.min(place, claims.length), 0, failure))
    await fc.assert(
      fc.asyncProperty(heard, async told => {
        expect(await afterSpill(told)).toMatchObject({ state: 'dead', replayId: 'r1' })
      }),
    )
  })

  it('B14: stays replaying when the spill got other claims only', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(claim, { minLength: 1, maxLength: 6 }), async told => {
        expect(await afterSpill(told)).toMatchObject({ state: 'replaying', replayId: 'r1' })
      }),
    )
  })
})
