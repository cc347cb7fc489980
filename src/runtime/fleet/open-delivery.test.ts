import { expect, it } from 'vitest'
import type { CommandRecord } from '../../ports/commands.ts'
import { mayBeSending, OVER_AFTER_MS } from './open-delivery.ts'

const SENT: CommandRecord = {
  command: { v: 1, id: 'd', request: 'd', task: { kind: 'deliver' }, recipients: ['a'], by: 'server' },
  state: 'waiting',
  sentAt: 1_000,
  expiresAt: 3_500,
}
const CLAIMED: CommandRecord = { ...SENT, state: 'claimed', claimedBy: 'a', claimedAt: 2_000 }
const OLD = OVER_AFTER_MS
const YOUNG = OVER_AFTER_MS - 1
/** The clock of the caller is far from that of the store. */
const NOW = 9_000_000

it.each<[what: string, record: CommandRecord | undefined, isOpen: boolean]>([
  ['nobody knows', undefined, false],
  ['somebody can still take', SENT, true],
  ['nobody took in time', { ...SENT, state: 'expired' }, false],
  ['a process took a moment ago', { ...CLAIMED, claimedAgoMs: 0 }, true],
  ['a process has had for as long as it may take', { ...CLAIMED, claimedAgoMs: YOUNG }, true],
  ['a process has had for longer', { ...CLAIMED, claimedAgoMs: OLD }, false],
  ['is unanswered for the store', { ...CLAIMED, state: 'unanswered', claimedAgoMs: YOUNG }, true],
  ['has ended', { ...CLAIMED, state: 'done', claimedAgoMs: 0, outcome: { ok: true } }, false],
  ['has failed', { ...CLAIMED, state: 'failed', claimedAgoMs: 0, outcome: { ok: false, error: 'x' } }, false],
])('B18: a delivery that %s: a process may be sending its letters or not', (_, record, isOpen) => {
  expect(mayBeSending(record, NOW)).toBe(isOpen)
})

it('B18: without an age from the store the clocks of the store and the caller are compared, in both directions', () => {
  for (const claimed of [CLAIMED, { ...CLAIMED, sentAt: 2_000, claimedAt: undefined }]) {
    expect(mayBeSending(claimed, 2_000 + YOUNG)).toBe(true)
    expect(mayBeSending(claimed, 2_000 + OLD)).toBe(false)
    expect(mayBeSending(claimed, 2_000 - YOUNG)).toBe(true)
    expect(mayBeSending(claimed, 2_000 - OLD)).toBe(false)
  }
})

it('B18: who knows that the claim is younger than the store says is right', () => {
  const claimed = { ...CLAIMED, claimedAgoMs: OLD }
  expect(mayBeSending(claimed, NOW, YOUNG)).toBe(true)
  expect(mayBeSending(claimed, NOW, OLD)).toBe(false)
  expect(mayBeSending({ ...CLAIMED, claimedAgoMs: YOUNG }, NOW, OLD)).toBe(true)
})
