import type { PaymentRequested } from '../contracts.ts'
import { RemoteService } from './latency.ts'

type Answer = 'approved' | 'insufficient_funds'

/** The card that card processors give out for trying a refusal. */
export const CARD_WITHOUT_FUNDS = '4000000000009995'

/** Stands in for a payment provider. A refusal is an answer like any other, not an error. */
export class CardProcessor extends RemoteService {
  async charge({ order, paidWith }: PaymentRequested, _fee: number, signal: AbortSignal): Promise<Answer> {
    await this.latency(`charge ${order}`, signal)
    return paidWith.card?.cardNumber === CARD_WITHOUT_FUNDS ? 'insufficient_funds' : 'approved'
  }
}
