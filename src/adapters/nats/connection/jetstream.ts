import { JetStreamError } from '../errors.ts'
import { decodeHeaders, type HeaderList } from './headers.ts'
import { parseJson } from './json.ts'
import type { Link } from './link.ts'
import { NANOSECONDS_PER_MS } from './nanoseconds.ts'

const TEMPORARY_MS = 30_000

/** Numbers of errors in the list of the server. */
export const ERROR = {
  consumerNotFound: 10_014,
  messageNotFound: 10_037,
  streamNameInUse: 10_058,
  streamNotFound: 10_059,
  wrongLastSequence: 10_071,
  consumerExists: 10_148,
} as const

export function isError(error: unknown, errorCode: number): boolean {
  return error instanceof JetStreamError && error.errorCode === errorCode
}

export interface StreamInfo {
  readonly config: {
    readonly name: string
    readonly subjects?: readonly string[]
    readonly retention: string
    readonly [setting: string]: unknown
  }
  readonly state: {
    readonly messages: number
    readonly last_seq: number
    readonly first_seq: number
    /** The time of the first message. */
    readonly first_ts: string
    /** The time of the last message that was stored. */
    readonly last_ts?: string
    readonly subjects?: Readonly<Record<string, number>>
  }
  readonly created: string
  /** Without a name the server is alone. */
  readonly cluster?: { readonly name?: string }
}

export interface ConsumerInfo {
  readonly name: string
  readonly created: string
  readonly config: Readonly<Record<string, unknown>>
  readonly num_pending: number
  readonly num_ack_pending: number
  readonly ack_floor: { readonly stream_seq: number; readonly consumer_seq: number }
  readonly delivered: { readonly stream_seq: number; readonly consumer_seq: number }
}

/** A message as a stream has it. */
export interface StoredMessage {
  readonly subject: string
  readonly sequence: number
  readonly headers: HeaderList
  readonly data: Uint8Array
  /** Epoch milliseconds. */
  readonly storedAt: number
}

/** Requests of JetStream, which are JSON. */
export class JetStream {
  readonly #link: Link

  constructor(link: Link) {
    this.#link = link
  }

  /** Undefined if there is no such stream. `subjects` asks for the number of messages of each subject that fits. */
  async streamInfo(stream: string, subjects?: string): Promise<StreamInfo | undefined> {
    const request = subjects === undefined ? {} : { subjects_filter: subjects }
    return this.#orUndefined(ERROR.streamNotFound, this.#ask(`STREAM.INFO.${stream}`, request))
  }

  async createStream(config: {
    readonly name: string
    readonly [setting: string]: unknown
  }): Promise<StreamInfo> {
    return this.#ask(`STREAM.CREATE.${config.name}`, config)
  }

  async updateStream(config: StreamInfo['config']): Promise<void> {
    await this.#ask(`STREAM.UPDATE.${config.name}`, config)
  }

  async consumerInfo(stream: string, consumer: string): Promise<ConsumerInfo | undefined> {
    const asked = this.#ask<ConsumerInfo>(`CONSUMER.INFO.${stream}.${consumer}`, {})
    return this.#orUndefined(ERROR.consumerNotFound, this.#orUndefined(ERROR.streamNotFound, asked))
  }

  async createConsumer(
    stream: string,
    config: { readonly durable_name: string; readonly [setting: string]: unknown },
  ): Promise<void> {
    await this.#ask(`CONSUMER.DURABLE.CREATE.${stream}.${config.durable_name}`, {
      stream_name: stream,
      config,
    })
  }

  /** A consumer of all messages, which the server removes if nobody does. Resolves with its name. */
  async createTemporaryConsumer(stream: string): Promise<string> {
    const config = {
      ack_policy: 'explicit',
      deliver_policy: 'all',
      inactive_threshold: TEMPORARY_MS * NANOSECONDS_PER_MS,
    }
    const { name } = await this.#ask<{ name: string }>(`CONSUMER.CREATE.${stream}`, {
      stream_name: stream,
      config,
    })
    return name
  }

  /** Removes a consumer. One that is not there is removed already. */
  async deleteConsumer(stream: string, consumer: string): Promise<void> {
    await this.#orUndefined(ERROR.consumerNotFound, this.#ask(`CONSUMER.DELETE.${stream}.${consumer}`, {}))
  }

  /** All streams of the account. */
  async streams(): Promise<readonly StreamInfo[]> {
    return this.#allPages(async offset => {
      const page = await this.#ask<{ total: number; streams: StreamInfo[] | null }>('STREAM.LIST', { offset })
      return { found: page.streams, total: page.total }
    })
  }

  /** The names of all streams of the account, also of those whose servers are down. */
  async streamNames(): Promise<readonly string[]> {
    return this.#allPages(async offset => {
      const page = await this.#ask<{ total: number; streams: string[] | null }>('STREAM.NAMES', { offset })
      return { found: page.streams, total: page.total }
    })
  }

  /** The stream that has a subject; undefined if there is none. */
  async streamOfSubject(subject: string): Promise<string | undefined> {
    const { streams } = await this.#ask<{ streams: string[] | null }>('STREAM.NAMES', { subject })
    return streams?.[0]
  }

  /** How many messages of these subjects a stream has; 0 if there is no such stream. */
  async countOf(stream: string, subjects: string): Promise<number> {
    const info = await this.streamInfo(stream, subjects)
    return Object.values(info?.state.subjects ?? {}).reduce((sum, count) => sum + count, 0)
  }

  /** The names of all consumers of a stream; none if there is no such stream. */
  async consumerNames(stream: string): Promise<readonly string[]> {
    type Page = { total: number; consumers: string[] | null }
    return this.#allPages(async offset => {
      const asked = this.#ask<Page>(`CONSUMER.NAMES.${stream}`, { offset })
      const page = await this.#orUndefined(ERROR.streamNotFound, asked)
      return { found: page?.consumers ?? null, total: page?.total ?? 0 }
    })
  }

  /** One message of a stream: by its sequence, the last of a subject, or the first of a subject from a sequence on. */
  async message(
    stream: string,
    which:
      | { readonly seq: number }
      | { readonly last_by_subj: string }
      | { readonly seq: number; readonly next_by_subj: string },
  ): Promise<StoredMessage | undefined> {
    const asked = this.#ask<{ message: RawMessage }>(`STREAM.MSG.GET.${stream}`, which)
    const found = await this.#orUndefined(ERROR.messageNotFound, asked)
    if (found === undefined) return undefined
    const { subject, seq, hdrs, data, time } = found.message
    return {
      subject,
      sequence: seq,
      headers: hdrs === undefined ? [] : decodeHeaders(Buffer.from(hdrs, 'base64')),
      data: data === undefined ? new Uint8Array() : new Uint8Array(Buffer.from(data, 'base64')),
      storedAt: Date.parse(time),
    }
  }

  /** Stores a message, if a stream has this subject. */
  async publish(subject: string, data: string): Promise<void> {
    const answer = await this.#link.call(subject, data)
    this.#read(`publish to '${subject}'`, answer.data)
  }

  /** Removes a message. One that is not there is removed already. */
  async deleteMessage(stream: string, sequence: number): Promise<void> {
    const asked = this.#ask(`STREAM.MSG.DELETE.${stream}`, { seq: sequence, no_erase: true })
    const unknown: readonly number[] = [ERROR.messageNotFound, ERROR.streamNotFound, ...NO_SUCH_SEQUENCE]
    await asked.catch(error => {
      if (!(error instanceof JetStreamError && unknown.includes(error.errorCode))) throw error
    })
  }

  /** A page is asked for by the number of those that were found before it. */
  async #allPages<T>(
    ask: (offset: number) => Promise<{ readonly found: readonly T[] | null; readonly total: number }>,
  ): Promise<readonly T[]> {
    const all: T[] = []
    for (;;) {
      const { found, total } = await ask(all.length)
      all.push(...(found ?? []))
      if ((found ?? []).length === 0 || all.length >= total) return all
    }
  }

  async #ask<T = unknown>(name: string, request: object): Promise<T> {
    const { data } = await this.#link.call(`$JS.API.${name}`, JSON.stringify(request))
    return this.#read(name, data)
  }

  #read(name: string, data: Uint8Array) {
    const answer = parseJson(data)
    if (answer.error === undefined) return answer
    const { err_code, code, description } = answer.error
    throw new JetStreamError(name, err_code ?? code, String(description))
  }

  async #orUndefined<T>(errorCode: number, asked: Promise<T>): Promise<T | undefined> {
    return asked.catch(error => {
      if (isError(error, errorCode)) return undefined
      throw error
    })
  }
}

/** What servers say when a sequence to be deleted is not there: the newest, and 2.9. */
const NO_SUCH_SEQUENCE = [10_057, 10_043]

interface RawMessage {
  readonly subject: string
  readonly seq: number
  readonly hdrs?: string
  readonly data?: string
  readonly time: string
}
