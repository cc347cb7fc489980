import type { AttemptLog } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import type { DeadLetter } from '../../../../core/dead-letter/letter.ts'
import type { OutgoingMessage } from '../../connection/publisher.ts'
import { letterHeaders } from '../wire/letter.ts'
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
  putBack(entry: Entry, log: AttemptLog, waitMs: number, isWanted: () => boolean): Promise<boolean> {
    return this.#context.persist(isWanted, 'settlements', async () => {
      await this.#context.publisher.publish([this.retryMessage(entry, log, waitMs)])
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
    return this.#context.persist(isWanted, 'letters', async () => {
      await publisher.publish([
        {
          stream: streams.name(names.channel, 'letters'),
          subject: names.letterSubject,
          data,
          headers: letterHeaders(headers, content, origin, letter),
        },
      ])
    })
  }

  retryMessage({ message, log: { origin } }: Entry, log: AttemptLog, waitMs: number): OutgoingMessage {
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
