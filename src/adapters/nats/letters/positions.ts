import { countOf } from '../../../adapter-kit/wire/carried-log.ts'
import { isPlainObject } from '../../../core/event/plain.ts'
import { toToken } from '../broker/streams/names.ts'
import type { JetStream, StreamInfo } from '../connection/jetstream.ts'
import { readJson } from '../connection/json.ts'
import type { Publisher } from '../connection/publisher.ts'

const STREAM = 'LAZARET_COLLECTORS'
const SUBJECT = 'lazaret.collector'

/** How far a stream is collected. */
export interface Position {
  /** The sequence of the next message. */
  readonly next: number
  /** When the stream was created. One that is created again begins again. */
  readonly created: string
  /** When the last message that was read had been stored, in epoch milliseconds; 0 if that is not known. */
  readonly readAt: number
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

  /** Undefined if nothing of the stream is collected, or if the position is not readable. */
  async read(stream: string): Promise<Position | undefined> {
    if ((await this.#jetstream.streamInfo(STREAM)) === undefined) return undefined
    const message = await this.#jetstream.message(STREAM, { last_by_subj: this.#subjectOf(stream) })
    if (message === undefined) return undefined
    const stored = readJson(message.data)
    if (!isPlainObject(stored) || !Number.isSafeInteger(stored['next'])) return undefined
    const { next, created, readAt } = stored
    return { next: Number(next), created: String(created), readAt: countOf(readAt) }
  }

  async write(stream: string, { next, created, readAt }: Position): Promise<void> {
    const data = Buffer.from(JSON.stringify({ v: 1, next, created, readAt }))
    await this.#publisher.publish([{ stream: STREAM, subject: this.#subjectOf(stream), data, headers: [] }])
  }

  #subjectOf(stream: string): string {
    return `${SUBJECT}.${this.#collector}.${toToken(stream)}`
  }
}

/**
 * Where the collector goes on in a stream, and whether the stream counts from 1 again. A stream without replicas does that after
 * a kill of its server. Then it ends before the position, or its first message is younger than the last one that was read.
 */
export function continueAt(
  stored: Position | undefined,
  { created, state }: StreamInfo,
): { readonly position: Position; readonly isRestarted: boolean } {
  const first: Position = { next: 1, created, readAt: 0 }
  if (stored?.created !== created) return { position: first, isRestarted: false }
  const { next, readAt } = stored
  const isYounger = readAt > 0 && state.messages > 0 && Date.parse(state.first_ts) > readAt
  const isRestarted = next > state.last_seq + 1 || (state.first_seq < next && isYounger)
  return { position: isRestarted ? first : stored, isRestarted }
}
