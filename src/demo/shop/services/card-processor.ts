import type { PaymentRequested } from '../contracts.ts'
import { RemoteService } from './latency.ts'

type Answer = 'approved' | 'insufficient_funds'

/** The test card that card processors decline. */
export const CARD_WITHOUT_FUNDS = '4000000000009995'

/** Simulates a payment provider. A declined card is an answer and not an error. */
export class CardProcessor extends RemoteService {
  async charge({ order, paidWith }: PaymentRequested, _fee: number, signal: AbortSignal): Promise<Answer> {
    await this.latency(`charge ${order}`, signal)
    return paidWith.card?.cardNumber === CARD_WITHOUT_FUNDS ? 'insufficient_funds' : 'approved'
  }
}
