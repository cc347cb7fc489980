import type { AttemptLog } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import type { DeadLetter } from '../../../../core/dead-letter/letter.ts'
import type { OutgoingMessage } from '../../connection/publisher.ts'
import { type LetterSize, letterHeaders } from '../wire/letter.ts'
import { headersWithLog } from '../wire/message-log.ts'
import type { SubscriptionContext } from './context.ts'
import type { Entry, NatsDelivery } from './entry.ts'

/** Makes settlements durable: retries in the retry stream, letters in the dead-letter stream. */
export class Settler {
  readonly #context: SubscriptionContext

  constructor(context: SubscriptionContext) {
    this.#context = context
  }

  /** The event comes again through the retry stream. False if that is not wanted any more. */
  putBack(message: OutgoingMessage, isWanted: () => boolean): Promise<boolean> {
    return this.#context.persist(isWanted, 'settlements', async () => {
      await this.#context.publisher.publish([message])
    })
  }

  /** The letter is in the dead-letter stream. */
  keepLetter(
    { entry, content, origin }: NatsDelivery,
    letter: DeadLetter,
    isWanted: () => boolean,
  ): Promise<boolean> {
    const { names, publisher, streams } = this.#context
    const { data, headers } = entry.message
    const message = (size: LetterSize) => ({
      stream: streams.name(names.channel, 'letters'),
      subject: names.letterSubject,
      data,
      headers: letterHeaders(headers, content, origin, letter, size),
    })
    return this.#context.persist(isWanted, 'letters', async () => {
      const whole = message('whole')
      await publisher.publish([publisher.fits(whole) ? whole : message('smallest')])
    })
  }

  /** The event for the retry stream, without its history if there is no room for that. Undefined if there is none at all. */
  retryMessage(entry: Entry, log: AttemptLog, waitMs: number): OutgoingMessage | undefined {
    const { publisher } = this.#context
    const whole = this.#retryMessage(entry, log, waitMs)
    if (publisher.fits(whole)) return whole
    const smaller = this.#retryMessage(entry, { ...log, history: [] }, waitMs)
    return publisher.fits(smaller) ? smaller : undefined
  }

  #retryMessage({ message, log: { origin } }: Entry, log: AttemptLog, waitMs: number): OutgoingMessage {
    const { names, streams, settings } = this.#context
    const wait = waitMs > 0 ? { notBefore: settings.clock.now() + waitMs, waitMs } : undefined
    return {
      stream: streams.name(names.channel, 'retries'),
      subject: names.retrySubject,
      data: message.data,
      headers: headersWithLog(message.headers, origin, log, wait),
    }
  }
}
