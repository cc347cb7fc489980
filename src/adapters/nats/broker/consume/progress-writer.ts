import type { OutgoingMessage } from '../../connection/publisher.ts'
import { writeProgress } from '../streams/progress-record.ts'
import { writeRetriesRecord } from '../streams/retries-record.ts'
import { positionOf } from '../streams/stream-position.ts'
import type { SubscriptionContext } from './context.ts'
import type { Source } from './entry.ts'

/** What the state stream can record, and a text that is another one when it has to be recorded again. */
interface Progress {
  readonly message: OutgoingMessage
  readonly mark: string
}

/**
 * Records now and then how far the handler has come, and how far its retry stream has counted. If its consumer is deleted, the
 * next one begins there, although the process that makes it knows only of its own events. If a stream counts from 1 again, the
 * records show it.
 */
export class ProgressWriter {
  readonly #context: SubscriptionContext
  /** The marks of what was written last. */
  readonly #written = new Map<Source, string>()
  #isWriting = false

  constructor(context: SubscriptionContext) {
    this.#context = context
  }

  /** Writes what has changed. A record that cannot be written is written the next time. */
  write(): void {
    if (this.#isWriting) return
    this.#isWriting = true
    void this.#writeChanged().finally(() => {
      this.#isWriting = false
    })
  }

  async #writeChanged(): Promise<void> {
    await this.#record('events', this.#events()).catch(() => {})
    await this.#record('retries', this.#retries()).catch(() => {})
  }

  async #record(source: Source, reading: Promise<Progress | undefined>): Promise<void> {
    const progress = await reading
    if (progress === undefined || this.#written.get(source) === progress.mark) return
    await this.#context.publisher.publish([progress.message])
    this.#written.set(source, progress.mark)
  }

  async #events(): Promise<Progress | undefined> {
    const { jetstream, names, streams } = this.#context
    const stream = names.streams.events
    const created = streams.createdAt(stream)
    const consumer = await jetstream.consumerInfo(stream, names.consumer)
    if (consumer === undefined || created === undefined) return undefined
    const settledTo = consumer.ack_floor.stream_seq
    const consumerCreated = consumer.created
    const mark = `${settledTo} ${created} ${consumerCreated}`
    if (this.#written.get('events') === mark) return undefined
    // After the consumer, so that the stream has had everything that is settled.
    const info = await jetstream.streamInfo(stream)
    // The stream was made again, or has begun again, and the consumer was that of the old one.
    if (info?.created !== created || info.state.last_seq < settledTo) return undefined
    const lastStoredAt = Date.parse(info.state.last_ts ?? '') || undefined
    const record = { created, settledTo, lastStoredAt, consumerCreated }
    return { message: writeProgress(names, streams.name(names.channel, 'state'), record), mark }
  }

  async #retries(): Promise<Progress | undefined> {
    const { jetstream, names, streams } = this.#context
    const stream = names.streams.retries
    const consumer = await jetstream.consumerInfo(stream, names.consumer)
    const info = await jetstream.streamInfo(stream)
    if (consumer === undefined || info === undefined || info.created !== streams.createdAt(stream))
      return undefined
    const { lastSequence, lastStoredAt = 0, firstStoredAt = 0 } = positionOf(info)
    // The consumer is ahead, or the server has forgotten the time of its last message.
    if (lastSequence < consumer.delivered.stream_seq || lastStoredAt <= 0 || lastStoredAt < firstStoredAt)
      return undefined
    const record = { created: info.created, lastSequence, lastStoredAt, consumerCreated: consumer.created }
    const message = writeRetriesRecord(names, streams.name(names.channel, 'state'), record)
    return { message, mark: JSON.stringify(record) }
  }
}
