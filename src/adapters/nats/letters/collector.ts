import { CollectingLoop } from '../../../adapter-kit/collecting/collecting-loop.ts'
import type { DeadLetter, Origin } from '../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { createIdSource } from '../../../core/event/uuid.ts'
import { BrokerClosedError, type QueueDepth } from '../../../ports/broker.ts'
import type { Collector, ReplayRoute } from '../../../ports/collector.ts'
import type { DeadLetterStore } from '../../../ports/dead-letters.ts'
import { JetStream } from '../connection/jetstream.ts'
import { Link } from '../connection/link.ts'
import { type OutgoingMessage, Publisher } from '../connection/publisher.ts'
import { NatsRefusedError, StreamMissingError } from '../errors.ts'
import { type NatsCollectorOptions, type NatsCollectorSettings, resolveNatsCollector } from './options.ts'
import { Positions } from './positions.ts'
import { faultOfReturn, returnedMessage } from './returned-message.ts'
import { StreamCollecting } from './stream-collecting.ts'

/** Collects dead-letter streams, and messages that were delivered too often. Nothing is connected until it is started or sends. */
export function natsCollector(options: NatsCollectorOptions): Collector {
  return new NatsCollector(resolveNatsCollector(options))
}

class NatsCollector implements Collector {
  readonly name: string
  readonly #link: Link
  readonly #jetstream: JetStream
  readonly #publisher: Publisher
  readonly #open: () => StreamCollecting
  readonly #loop: CollectingLoop<StreamCollecting>
  #closing: Promise<void> | undefined

  constructor(settings: NatsCollectorSettings) {
    const { connection, handledAfterMs, onError, pollIntervalMs } = settings
    const { clock, random } = connection
    this.name = connection.name
    const id = createIdSource(random)(clock.now())
    this.#link = new Link(connection, id)
    this.#jetstream = new JetStream(this.#link)
    // The streams belong to others, so that none is created.
    this.#publisher = new Publisher(this.#link, connection, id, {
      restore: async () => false,
      beforePublishing: async () => {},
      takesBatches: () => false,
    })
    const positions = new Positions(this.#jetstream, this.#publisher, this.name)
    this.#open = () => new StreamCollecting(settings, this.#jetstream, positions)
    this.#loop = new CollectingLoop({
      name: this.name,
      clock,
      handledAfterMs,
      onError,
      open: this.#open,
      restMs: ({ hasMore }) => (hasMore ? 0 : pollIntervalMs),
      explain: error => ({
        problem: error instanceof Error ? error : new Error(String(error)),
        isNewsAtOnce: error instanceof NatsRefusedError,
      }),
    })
  }

  start(into: DeadLetterStore): void {
    this.#requireOpen()
    this.#loop.start(into)
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  async send(events: readonly LazaretEvent[], origin: Origin): Promise<void> {
    this.#requireOpen()
    const messages: OutgoingMessage[] = []
    for (const event of events) {
      const message = returnedMessage(event, origin)
      const stream = await this.#jetstream.streamOfSubject(message.subject)
      if (stream === undefined) throw new StreamMissingError(`for the subject ${message.subject}`)
      messages.push({ ...message, stream })
    }
    await this.#publisher.publish(messages)
  }

  /** A message that could not be sent back as it was is not sent back at all; to another channel it may go. */
  routeOf({ origin }: Pick<DeadLetter, 'origin'>, to: string | undefined): ReplayRoute {
    const fault = to === undefined ? faultOfReturn({ origin }) : undefined
    return fault === undefined ? { kind: 'durable', via: this.name } : { kind: 'none', reason: fault }
  }

  async depths(): Promise<readonly QueueDepth[]> {
    this.#requireOpen()
    return await this.#open().depths()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.#loop.stop()
    this.#publisher.close()
    await this.#link.close()
  }

  #requireOpen(): void {
    if (this.#closing !== undefined) throw new BrokerClosedError(this.name)
  }
}
