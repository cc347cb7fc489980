import type { Clock } from '../../../ports/clock.ts'
import type { EmailRequested } from '../contracts.ts'
import { HttpError } from './http-error.ts'
import { latency } from './latency.ts'

/** Stands in for a mail provider: it takes everything but addresses that cannot be. */
export class MailService {
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async send({ order, to }: EmailRequested, signal: AbortSignal): Promise<void> {
    await latency(this.#clock, `mail ${order}`, signal)
    if (to.endsWith('.invalid')) throw new HttpError(422, 'recipient address cannot be delivered to')
  }
}
