import { delay, equalJitter, monotonicNow } from '../../../ports/clock.ts'
import {
  JetStreamError,
  LeaseExpiredError,
  MessageTooLargeError,
  NatsUnreachableError,
  StreamFullError,
} from '../errors.ts'
import type { NatsSettings } from '../options.ts'
import {
  BATCH_IS_STORED,
  batchHeaders,
  inBatches,
  messagesWithHotKeys,
  refusesBatches,
} from './atomic-batch.ts'
import { encodeHeaders, type HeaderList } from './headers.ts'
import { ERROR, isError } from './jetstream.ts'
import { parseJson } from './json.ts'
import { isTooLarge, type Link } from './link.ts'

/** The data of a message that says everything in its headers. */
export const NO_DATA = new Uint8Array()

/** A message for a stream. */
export interface OutgoingMessage {
  readonly stream: string
  readonly subject: string
  readonly data: Uint8Array
  readonly headers: HeaderList
  /** Refused unless the last message of its subject has this sequence. Such a message is not sent again. */
  readonly lastSequence?: number | undefined
  /** Refused unless the last message of another subject has this sequence. Servers before 2.11 refuse it always. */
  readonly fence?: { readonly subject: string; readonly sequence: number } | undefined
  /** Messages of one key are stored in the order given [none]. */
  readonly key?: string | undefined
  /** Room for headers that the message gets later, in bytes [0]. A message that leaves less is refused. */
  readonly spareBytes?: number | undefined
}

/** What has to be done for streams before messages are sent to them. */
interface StreamRepairs {
  /** Makes a missing stream exist. False if it is not ours to make. */
  restore(stream: string): Promise<boolean>
  /** Called before the first message of each connection, and when a stream counts from 1 again. */
  beforePublishing(stream: string): Promise<void>
  /** Whether the stream stores several messages together or not at all. Known after `beforePublishing`. */
  takesBatches(stream: string): boolean
}

/** A message that is not acknowledged. */
interface Pending {
  readonly message: OutgoingMessage
  readonly index: number
  readonly id: string
  /** It was sent without a batch, and may be stored. A batch with its id would be refused, and look as if all of it were stored. */
  wasSentAlone: boolean
}

/** What has to hold when a message is sent. */
interface SendConditions {
  /** Another process may have become the one that writes these messages. */
  readonly isOurs: () => boolean
  /** By a monotonic clock. A stream does not recognise a message that is sent again much later. */
  readonly notAfter: number
}

interface Preparation {
  readonly connection: number
  /** Undefined when it is done. */
  work: Promise<void> | undefined
}

/** The most messages that are sent before their acknowledgements are awaited. */
const MAX_UNACKNOWLEDGED = 1_000
const FIRST_BACKOFF_MS = 50
const MAX_BACKOFF_MS = 2_000
/** What publishing adds to the headers of a message, and more than that. */
const ADDED_BYTES = 500
/** Headers are smaller than this unless the user's own are large. Only messages near the limit are measured. */
const MEASURED_FROM_BYTES = 300_000

const MESSAGE_ID = 'Nats-Msg-Id'
const EXPECTED_STREAM = 'Nats-Expected-Stream'
const EXPECTED_SEQUENCE = 'Nats-Expected-Last-Subject-Sequence'
const EXPECTED_SEQUENCE_SUBJECT = 'Nats-Expected-Last-Subject-Sequence-Subject'

/** Errors of an account or server without room: storage and memory. */
const FULL = new Set([10_023, 10_028, 10_047])
/** A full stream has no number of its own. */
const IS_FULL = /maximum (?:messages|bytes)/
const TOO_LARGE = 10_054
/** Another stream has the subject. */
const WRONG_STREAM = 10_060

/**
 * Publishes messages and waits until a stream has them. A message whose acknowledgement does not come is sent again with
 * the same id, so that the stream has it once.
 */
export class Publisher {
  readonly #link: Link
  readonly #settings: NatsSettings
  readonly #id: string
  readonly #streams: StreamRepairs
  /** The streams that are prepared, or are being prepared, on the latest connection. */
  readonly #prepared = new Map<string, Preparation>()
  /** The streams that have refused a batch. */
  readonly #withoutBatches = new Set<string>()
  /** The highest sequence of each stream so far. */
  readonly #lastSequences = new Map<string, number>()
  #count = 0
  #isClosed = false

  constructor(link: Link, settings: NatsSettings, id: string, streams: StreamRepairs) {
    this.#link = link
    this.#settings = settings
    this.#id = id
    this.#streams = streams
  }

  /**
   * Resolves with the sequence of each message in its stream; NaN if it is not known, because a batch was sent again. `isOurs` is asked before every sending: another process may have
   * become the one that writes these messages.
   */
  async publish(
    messages: readonly OutgoingMessage[],
    isOurs: () => boolean = () => true,
  ): Promise<readonly number[]> {
    const sequences: number[] = []
    for (let from = 0; from < messages.length; from += MAX_UNACKNOWLEDGED)
      sequences.push(...(await this.#publishSome(messages.slice(from, from + MAX_UNACKNOWLEDGED), isOurs)))
    return sequences
  }

  /** Whether the server takes a message of this size, as far as that is known. */
  fits({ data, headers, spareBytes = 0 }: OutgoingMessage): boolean {
    const limit = this.#link.current?.info?.max_payload
    if (limit === undefined || data.length < limit - MEASURED_FROM_BYTES) return true
    return data.length + encodeHeaders(headers).length + ADDED_BYTES + spareBytes <= limit
  }

  close(): void {
    this.#isClosed = true
  }

  async #publishSome(
    messages: readonly OutgoingMessage[],
    isOurs: () => boolean,
  ): Promise<readonly number[]> {
    const { clock, random, publishTimeoutMs } = this.#settings
    const giveUpAt = monotonicNow(clock) + publishTimeoutMs
    const sequences = new Array<number>(messages.length)
    let notAfter = Number.POSITIVE_INFINITY
    let left: readonly Pending[] = messages.map((message, index) => ({
      message,
      index,
      id: this.#newId(),
      wasSentAlone: false,
    }))
    for (let restMs = FIRST_BACKOFF_MS; ; restMs = Math.min(MAX_BACKOFF_MS, restMs * 2)) {
      const results = await Promise.allSettled(await this.#sendInOrder(left, { isOurs, notAfter }))
      notAfter = giveUpAt
      const failed: Pending[] = []
      let problem: unknown
      for (const [at, result] of results.entries()) {
        const each = left[at]!
        if (result.status === 'fulfilled') sequences[each.index] = result.value
        else {
          failed.push(each)
          problem ??= result.reason
        }
      }
      if (failed.length === 0) return sequences
      left = failed
      const isOver = this.#isClosed || monotonicNow(clock) + restMs > giveUpAt
      if (isOver || failed.some(({ message }) => message.lastSequence !== undefined)) throw problem
      if (!isPassing(problem)) throw problem
      await this.#repair(failed.map(({ message }) => message.stream))
      await delay(clock, equalJitter(random, restMs))
    }
  }

  /**
   * A stream stores what comes after a message that it refused, such as one that came without a leader. A message of a key
   * is therefore sent when the one before it is stored, and not in this round if that failed. If a key has many messages,
   * they are sent in batches, which a stream stores whole or not at all.
   */
  async #sendInOrder(
    messages: readonly Pending[],
    conditions: SendConditions,
  ): Promise<readonly Promise<number>[]> {
    const batched = await this.#sendBatches(messages, conditions)
    const latest = new Map<string, Promise<number>>()
    return messages.map(pending => {
      const inBatch = batched.get(pending)
      if (inBatch !== undefined) return inBatch
      const { key } = pending.message
      const send = () => this.#send(pending, conditions)
      if (key === undefined) return send()
      const before = latest.get(key)
      const sent = before === undefined ? send() : before.then(send)
      latest.set(key, sent)
      return sent
    })
  }

  /** One batch of a stream is sent after the other. */
  async #sendBatches(
    messages: readonly Pending[],
    conditions: SendConditions,
  ): Promise<ReadonlyMap<Pending, Promise<number>>> {
    const sent = new Map<Pending, Promise<number>>()
    const hot = messagesWithHotKeys(messages)
    // Before the first batch: it can fail early, and the caller must be waiting for it by then.
    for (const stream of hot.keys()) await this.#ready(stream).catch(() => {})
    for (const [stream, pending] of hot) {
      if (this.#withoutBatches.has(stream) || !this.#streams.takesBatches(stream)) continue
      if (pending.some(({ wasSentAlone }) => wasSentAlone)) continue
      let before: Promise<unknown> = Promise.resolve()
      for (const batch of inBatches(pending)) {
        const first = before.then(() => this.#sendBatch(stream, batch, conditions))
        for (const [index, each] of batch.entries())
          sent.set(
            each,
            first.then(sequence => sequence + index),
          )
        before = first
      }
    }
    return sent
  }

  async #send(pending: Pending, conditions: SendConditions): Promise<number> {
    const { message, id } = pending
    const { stream, subject, data, lastSequence, fence } = message
    await this.#ready(stream)
    this.#check(message, conditions)
    pending.wasSentAlone = true
    const headers = headersOf(message)
    if (lastSequence === undefined) headers.push([MESSAGE_ID, id])
    else headers.push([EXPECTED_SEQUENCE, String(lastSequence)])
    if (fence !== undefined)
      headers.push([EXPECTED_SEQUENCE, String(fence.sequence)], [EXPECTED_SEQUENCE_SUBJECT, fence.subject])
    const answer = await this.#link.call(subject, data, headers).catch(error => {
      throw isTooLarge(error) ? new MessageTooLargeError(stream, data.length) : error
    })
    return this.#readAnswer(message, answer.data)
  }

  /** Resolves with the sequence of the first message. */
  async #sendBatch(stream: string, batch: readonly Pending[], conditions: SendConditions): Promise<number> {
    await this.#ready(stream)
    for (const { message } of batch) this.#check(message, conditions)
    const batchId = this.#newId()
    const sending = batch.map(({ message, id }, index) => {
      const headers = headersOf(message)
      headers.push([MESSAGE_ID, id], ...batchHeaders(batchId, index, batch.length))
      return { message, headers }
    })
    const { message: last, headers } = sending.pop()!
    // Only the last one is answered. If another is lost, the server refuses the last one.
    for (const each of sending) this.#link.send(each.message.subject, each.message.data, each.headers)
    const answer = await this.#link.call(last.subject, last.data, headers)
    try {
      return this.#readAnswer(last, answer.data) - (batch.length - 1)
    } catch (error) {
      if (isError(error, BATCH_IS_STORED)) return Number.NaN
      if (refusesBatches(error)) this.#withoutBatches.add(stream)
      throw error
    }
  }

  #newId(): string {
    return `${this.#id}.${++this.#count}`
  }

  /** Time has passed while the connection was lost, or the stream was made again. */
  #check(message: OutgoingMessage, { isOurs, notAfter }: SendConditions): void {
    const { stream, data } = message
    if (!isOurs()) throw new LeaseExpiredError(stream)
    if (monotonicNow(this.#settings.clock) > notAfter)
      throw new NatsUnreachableError(this.#link.server, 'no answer in time')
    if (!this.fits(message)) throw new MessageTooLargeError(stream, data.length)
  }

  /** The sequence of the message. */
  #readAnswer({ stream, data }: OutgoingMessage, answer: Uint8Array): number {
    const { error, seq, duplicate } = parseJson(answer)
    if (error === undefined) {
      if (duplicate !== true) this.#noticeRestart(stream, seq)
      return seq
    }
    const errorCode = error.err_code ?? error.code
    if (errorCode === TOO_LARGE) throw new MessageTooLargeError(stream, data.length)
    if (FULL.has(errorCode) || IS_FULL.test(error.description))
      throw new StreamFullError(stream, error.description)
    throw new JetStreamError(`publish to '${stream}'`, errorCode, error.description)
  }

  /** There is a connection, and the stream is prepared on it. */
  async #ready(stream: string): Promise<void> {
    for (;;) {
      while (this.#link.current === undefined) await this.#link.untilUp()
      const { work } = this.#prepare(stream)
      if (work === undefined) return
      await work
    }
  }

  /** A failure is ignored: a process that may only publish cannot look at consumers, and those that consume look too. */
  #prepare(stream: string): Preparation {
    const { connections } = this.#link
    const known = this.#prepared.get(stream)
    if (known?.connection === connections) return known
    const preparation: Preparation = { connection: connections, work: undefined }
    preparation.work = this.#streams
      .beforePublishing(stream)
      .catch(() => {})
      .then(() => {
        preparation.work = undefined
      })
    this.#prepared.set(stream, preparation)
    return preparation
  }

  /** The server of the stream can have been killed although ours was not. */
  #noticeRestart(stream: string, sequence: number): void {
    if (sequence < (this.#lastSequences.get(stream) ?? 0)) {
      this.#prepared.delete(stream)
      this.#prepare(stream)
    }
    this.#lastSequences.set(stream, sequence)
  }

  async #repair(streams: readonly string[]): Promise<void> {
    for (const stream of new Set(streams)) await this.#streams.restore(stream).catch(() => false)
  }
}

function headersOf({ headers, stream }: OutgoingMessage): (readonly [string, string])[] {
  return [...headers, [EXPECTED_STREAM, stream]]
}

/** Whether sending again can help: no answer, no leader, no stream. */
function isPassing(problem: unknown): boolean {
  if (problem instanceof NatsUnreachableError) return true
  if (!(problem instanceof JetStreamError)) return false
  return problem.errorCode !== ERROR.wrongLastSequence && problem.errorCode !== WRONG_STREAM
}
