import { isPlainObject } from '../../../core/event/plain.ts'
import { toToken } from '../broker/streams/names.ts'
import type { JetStream } from '../connection/jetstream.ts'
import type { Publisher } from '../connection/publisher.ts'

const STREAM = 'LAZARET_COLLECTORS'
const SUBJECT = 'lazaret.collector'

/** How far a stream is collected. */
export interface Position {
  /** The sequence of the next message. */
  readonly next: number
  /** When the stream was created. One that is created again begins again. */
  readonly created: string
}

/**
 * The positions of a collector, in a stream of ours: a consumer in a stream of others would change what that stream keeps.
 */
export class Positions {
  readonly #jetstream: JetStream
  readonly #publisher: Publisher
  readonly #collector: string

  constructor(jetstream: JetStream, publisher: Publisher, collector: string) {
    this.#jetstream = jetstream
    this.#publisher = publisher
    this.#collector = toToken(collector)
  }

  async declare(replicas: number): Promise<void> {
    if ((await this.#jetstream.streamInfo(STREAM)) !== undefined) return
    const subjects = [`${SUBJECT}.>`]
    await this.#jetstream.createStream({
      name: STREAM,
      subjects,
      num_replicas: replicas,
      max_msgs_per_subject: 1,
      allow_direct: false,
    })
  }

  /** Undefined if nothing of the stream is collected. */
  async read(stream: string): Promise<Position | undefined> {
    if ((await this.#jetstream.streamInfo(STREAM)) === undefined) return undefined
    const message = await this.#jetstream.message(STREAM, { last_by_subj: this.#subjectOf(stream) })
    if (message === undefined) return undefined
    const stored: unknown = JSON.parse(Buffer.from(message.data).toString('utf8'))
    if (!isPlainObject(stored) || !Number.isSafeInteger(stored['next'])) return undefined
    return { next: Number(stored['next']), created: String(stored['created']) }
  }

  async write(stream: string, { next, created }: Position): Promise<void> {
    const data = Buffer.from(JSON.stringify({ v: 1, next, created }))
    await this.#publisher.publish([{ stream: STREAM, subject: this.#subjectOf(stream), data, headers: [] }])
  }

  #subjectOf(stream: string): string {
    return `${SUBJECT}.${this.#collector}.${toToken(stream)}`
  }
}
