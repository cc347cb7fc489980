import { PermanentError } from '../../core/failure/signals.ts'
import { exponential } from '../../core/retry/exponential.ts'
import type { ShopHandler } from '../relocate-stacks.ts'
import { PaymentRequested } from './contracts.ts'
import { FEES, type Release } from './fees.ts'
import { derivedId } from './follow-ups.ts'
import type { CardProcessor } from './services/card-processor.ts'
import type { Track } from './tracking/track.ts'

/** Charges cards and wallets. The ledger prevents a second charge when an event is delivered twice. */
export function payments(
  processor: CardProcessor,
  release: Release,
  track: Track,
): ShopHandler<PaymentRequested> {
  const feeOf = FEES[release]
  return {
    channel: 'payments',
    name: 'take-payment',
    release,
    schema: PaymentRequested,
    retry: { attempts: 4, backoff: exponential({ baseMs: 500, maxMs: 15_000 }) },
    timeoutMs: 5_000,
    // A bug in our own code fails the same way every time, so only a new release can fix it.
    classify: [{ when: isOwnMistake, retryable: false, category: 'unknown' }],
    async handle({ id, payload }, { signal }) {
      const answer = await processor.charge(payload, feeOf(payload), signal)
      // A retry cannot add money to the account.
      if (answer === 'insufficient_funds')
        throw new PermanentError('the card was declined: insufficient funds')
      const { order, amount, currency } = payload
      track({ type: 'payment.taken', id: derivedId(id, 'taken'), payload: { order, amount, currency } })
    },
  }
}

/** `fetch` also throws a TypeError when it cannot connect, but that error has a cause. */
function isOwnMistake(error: unknown): boolean {
  return error instanceof TypeError && error.cause === undefined
}
