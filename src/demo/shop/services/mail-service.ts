import type { EmailRequested } from '../contracts.ts'
import { HttpError } from './http-error.ts'
import { RemoteService } from './latency.ts'

/** Simulates a mail provider that accepts every valid address. */
export class MailService extends RemoteService {
  async send({ order, to }: EmailRequested, signal: AbortSignal): Promise<void> {
    await this.latency(`mail ${order}`, signal)
    if (to.endsWith('.invalid')) throw new HttpError(422, 'recipient address cannot be delivered to')
  }
}
