import { unsettledEvents, waitingEvents } from '../broker/streams/depth.ts'
import { fromToken, namesOf, streamsOf, subjectsOf } from '../broker/streams/names.ts'
import { Streams } from '../broker/streams/streams.ts'
import { JetStream, type StreamInfo } from '../connection/jetstream.ts'
import { parseJson } from '../connection/json.ts'
import { Link } from '../connection/link.ts'
import { type NatsOptions, type NatsSettings, resolveNats } from '../options.ts'
import {
  checkConsumer,
  checkStream,
  checkSync,
  type NatsFinding,
  type SyncSettings,
} from './stream-checks.ts'

/** A handler that has a consumer. */
interface FoundHandler {
  readonly channel: string
  readonly handler: string
}

/** The events of a handler, and where they are. */
export interface HandlerStatus extends FoundHandler {
  readonly stream: string
  /** The events of the channel that the handler has not finished. */
  readonly lag: number
  /** The events that wait for their next attempt, or for another one of their key. */
  readonly waiting: number
  /** The messages in its dead-letter stream. */
  readonly deadLetters: number
}

const RETRY_SUBJECT = /^lazaret\.retry\.(.+)\.>$/
const SYSTEM_TIMEOUT_MS = 1_000

/** Runs work for a person who waits for the answer. */
export async function withNatsAdmin<T>(
  options: NatsOptions,
  work: (admin: NatsAdmin) => Promise<T>,
): Promise<T> {
  const settings = resolveNats(options)
  const link = new Link(settings, `admin-${process.pid}-${settings.clock.now()}`)
  try {
    await link.get()
    return await work(new NatsAdmin(link, settings))
  } finally {
    await link.close()
  }
}

class NatsAdmin {
  readonly #link: Link
  readonly #settings: NatsSettings
  readonly #jetstream: JetStream

  constructor(link: Link, settings: NatsSettings) {
    this.#link = link
    this.#settings = settings
    this.#jetstream = new JetStream(link)
  }

  /** Creates the streams of a channel and the consumers of a handler, which gets every event from now on. Returns the streams. */
  async declare(channel: string, handler: string): Promise<readonly string[]> {
    await new Streams(this.#jetstream, this.#settings).needConsumers(namesOf(channel, handler))
    return Object.values(streamsOf(channel))
  }

  /** The handlers of these channels, or of all channels. */
  async handlers(channels: readonly string[]): Promise<readonly FoundHandler[]> {
    const found: FoundHandler[] = []
    for (const { config } of await this.#jetstream.streams()) {
      const channel = RETRY_SUBJECT.exec(config.subjects?.[0] ?? '')?.[1]
      if (channel === undefined || (channels.length > 0 && !channels.includes(channel))) continue
      for (const consumer of await this.#jetstream.consumerNames(config.name))
        found.push({ channel, handler: fromToken(consumer) })
    }
    return found
  }

  async status({ channel, handler }: FoundHandler): Promise<HandlerStatus> {
    const names = namesOf(channel, handler)
    return {
      channel,
      handler,
      stream: names.streams.events,
      lag: await unsettledEvents(this.#jetstream, names),
      waiting: await waitingEvents(this.#jetstream, names),
      deadLetters: await this.#jetstream.countOf(names.streams.letters, names.letterSubject),
    }
  }

  /** Settings of the streams and consumers of a handler that can lose events or letters. */
  async check({ channel, handler }: FoundHandler, lettersKeptMs: number): Promise<readonly NatsFinding[]> {
    const { streams, consumer } = namesOf(channel, handler)
    const findings: NatsFinding[] = []
    for (const kind of Object.keys(subjectsOf(channel)) as (keyof typeof streams)[]) {
      const info: StreamInfo | undefined = await this.#jetstream.streamInfo(streams[kind])
      if (info !== undefined) findings.push(...checkStream(info, kind, lettersKeptMs))
    }
    for (const kind of ['events', 'retries'] as const) {
      const info = await this.#jetstream.consumerInfo(streams[kind], consumer)
      if (info !== undefined) findings.push(...checkConsumer(streams[kind], kind, info))
    }
    return findings
  }

  /** How often the servers write to disk. Only the system account is told, so that most others learn nothing. */
  async checkSync(): Promise<readonly NatsFinding[]> {
    let settings: SyncSettings | undefined
    try {
      const { data } = await this.#link.call(
        '$SYS.REQ.SERVER.PING.JSZ',
        JSON.stringify({ config: true }),
        undefined,
        SYSTEM_TIMEOUT_MS,
      )
      settings = parseJson(data).data?.config
    } catch {
      // The account is not allowed to ask.
    }
    return checkSync(settings)
  }
}
