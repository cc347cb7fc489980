import type { Cancel } from '../../../../ports/clock.ts'
import {
  type ConsumerInfo,
  ERROR,
  isError,
  type JetStream,
  type StreamInfo,
} from '../../connection/jetstream.ts'
import { NANOSECONDS_PER_MS } from '../../connection/nanoseconds.ts'
import { StreamMissingError } from '../../errors.ts'
import type { NatsSettings } from '../../options.ts'
import {
  type ChannelStreams,
  fromToken,
  type HandlerNames,
  makingSubject,
  namesOf,
  streamsOf,
  subjectsOf,
} from './names.ts'
import { hasRestartedSinceRecord, readProgress } from './progress-record.ts'
import { requireConsumer, requireStream } from './requirements.ts'
import { isPastEnd, type OutdatedConsumer, remakeConsumersAhead } from './restarted-streams.ts'
import { positionOf, type StreamPosition } from './stream-position.ts'

/** Within this time the server recognises a message that is sent again. It exceeds every time that we send one again. */
const DUPLICATE_WINDOW_MS = 120_000
const UNLIMITED = -1
/** The most events of a handler that may be open, over all its consumers. */
const MAX_ACK_PENDING = 100_000
const MAX_WAITING_PULLS = 512

type Kind = keyof ChannelStreams

/** What a request for messages may ask of a consumer. */
export interface PullLimits {
  readonly messages: number
  readonly waitMs: number
}

/** A stream that this process uses. */
interface KnownStream {
  readonly channel: string
  readonly kind: Kind
  exists: boolean
  /** When it was made: a stream that was deleted and made again counts its messages from 1. */
  created: string | undefined
  /** It stores several messages together or not at all. */
  takesBatches: boolean
}

/** Makes the streams and consumers that a channel needs, and makes them again when they were deleted. */
export class Streams {
  readonly #jetstream: JetStream
  readonly #settings: NatsSettings
  readonly #known = new Map<string, KnownStream>()
  /** The handlers of this process: their consumers are made again with the stream, before it receives an event. */
  readonly #handlers = new Set<HandlerNames>()
  readonly #listeners = new Set<(stream: string) => void>()

  constructor(jetstream: JetStream, settings: NatsSettings) {
    this.#jetstream = jetstream
    this.#settings = settings
  }

  /** The name of a stream, which exists when this resolves. */
  async need(channel: string, kind: Kind): Promise<string> {
    const stream = this.name(channel, kind)
    if (this.#known.get(stream)?.exists !== true) await this.restore(stream)
    return stream
  }

  /** The name of a stream, which is made when a message for it finds none. */
  name(channel: string, kind: Kind): string {
    const stream = streamsOf(channel)[kind]
    if (!this.#known.has(stream))
      this.#known.set(stream, { channel, kind, exists: false, created: undefined, takesBatches: false })
    return stream
  }

  /** Makes a stream if it is missing. False if nothing is known of it. */
  restore = async (stream: string): Promise<boolean> => {
    const known = this.#known.get(stream)
    if (known === undefined) return false
    await this.#examine(stream, known)
    return true
  }

  /** Makes a stream of this channel if it is missing, and finds out where it begins and ends. */
  async examine(channel: string, kind: Kind): Promise<StreamPosition> {
    const stream = this.name(channel, kind)
    return this.#examine(stream, this.#known.get(stream)!)
  }

  async #examine(stream: string, known: KnownStream): Promise<StreamPosition> {
    known.exists = false
    const { info, isNew } = await this.#declare(known.channel, known.kind, stream)
    if (isNew && known.kind === 'retries')
      for (const names of this.#handlers)
        if (names.streams.retries === stream)
          await this.#makeConsumer(names, 'retries', { deliver_policy: 'all' })
    known.exists = true
    known.takesBatches = doesTakeBatches(info)
    const before = known.created
    known.created = info.created
    if (before !== undefined && before !== info.created)
      for (const listener of [...this.#listeners]) listener(stream)
    return positionOf(info)
  }

  /** `listener` is called when a stream turns out to be another one than before: it was deleted and made again. */
  onMadeAgain(listener: (stream: string) => void): Cancel {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** When the stream was made, as far as this process knows. */
  createdAt(stream: string): string | undefined {
    return this.#known.get(stream)?.created
  }

  /** Returns the function that forgets the handler. */
  remember(names: HandlerNames): () => void {
    this.#handlers.add(names)
    return () => this.#handlers.delete(names)
  }

  /**
   * The consumers exist when this resolves. A new one begins after what the stream has, unless options say otherwise.
   * Resolves with the time after which they deliver an event again, in ms, which an operator may have changed.
   */
  async needConsumers(names: HandlerNames): Promise<number> {
    for (const kind of ['events', 'retries', 'state', 'letters'] as const)
      await this.need(names.channel, kind)
    await this.remakeConsumersAhead(names.channel)
    let ackWaitMs = this.#settings.ackWaitMs
    for (const kind of ['events', 'retries'] as const) {
      await this.restoreConsumer(names, kind)
      const info = await this.#jetstream.consumerInfo(names.streams[kind], names.consumer)
      if (info === undefined) throw new StreamMissingError(`${names.streams[kind]} > ${names.consumer}`)
      ackWaitMs = Math.min(ackWaitMs, requireConsumer(names.streams[kind], info) / NANOSECONDS_PER_MS)
    }
    return ackWaitMs
  }

  /** A killed server may have begun the streams of a channel again at 1. Of the streams of `outdated` consumers that is known [none]. */
  async remakeConsumersAhead(
    channel: string,
    outdated?: readonly OutdatedConsumer[],
    kinds?: readonly ('events' | 'retries')[],
  ): Promise<void> {
    if (this.#settings.declare !== 'none')
      await remakeConsumersAhead(this.#jetstream, channel, outdated, kinds)
  }

  /** The consumer of a handler, if it is ahead of its stream now. For a process that may not make it again. */
  async consumerAhead(names: HandlerNames, kind: 'events' | 'retries'): Promise<ConsumerInfo | undefined> {
    const stream = names.streams[kind]
    const consumer = await this.#jetstream.consumerInfo(stream, names.consumer)
    const found = await this.#jetstream.streamInfo(stream)
    const isAhead = consumer !== undefined && found !== undefined && isPastEnd(consumer, found)
    return isAhead ? consumer : undefined
  }

  /** Before the first message of a connection is published: consumers that are ahead of the stream would skip it. */
  beforePublishing = async (stream: string): Promise<void> => {
    const known = this.#known.get(stream)
    if (known?.kind === 'retries') await this.remakeConsumersAhead(known.channel, [], ['retries'])
    if (known?.kind !== 'events') return
    await this.remakeConsumersAhead(known.channel)
    if (this.#settings.declare !== 'none' && !known.exists)
      known.takesBatches = doesTakeBatches(await this.#jetstream.streamInfo(stream))
  }

  takesBatches = (stream: string): boolean => this.#known.get(stream)?.takesBatches === true

  /**
   * Makes a missing consumer, and its stream before. `known` is what the subscription knows of the stream: the time at which
   * it was made, and the first sequence that is not settled. Resolves with what the consumer allows.
   */
  async restoreConsumer(
    names: HandlerNames,
    kind: 'events' | 'retries',
    known?: { readonly created: string | undefined; readonly firstUnsettled: number | undefined },
  ): Promise<PullLimits> {
    const position = await this.examine(names.channel, kind)
    const info = await this.#jetstream.consumerInfo(names.streams[kind], names.consumer)
    if (info === undefined)
      await this.#makeConsumer(names, kind, await this.#start(names, kind, position, known))
    return limitsOf(info)
  }

  /**
   * A consumer of a new stream, and of one that counts from 1 again, begins with all of it: nobody else has had it. One that was
   * deleted begins where its handler had come to: as it was recorded, or as this process knows.
   */
  async #start(
    names: HandlerNames,
    kind: 'events' | 'retries',
    position: StreamPosition,
    known?: { readonly created: string | undefined; readonly firstUnsettled: number | undefined },
  ): Promise<object> {
    const all = { deliver_policy: 'all' }
    const created = this.createdAt(names.streams.events)
    if (kind === 'retries' || (known !== undefined && known.created !== created)) return all
    await this.need(names.channel, 'state')
    const record = await readProgress(this.#jetstream, names)
    if (record !== undefined && (record.created !== created || hasRestartedSinceRecord(record, position)))
      return all
    const firstUnsettled = Math.min(
      record === undefined ? Number.POSITIVE_INFINITY : record.settledTo + 1,
      known?.firstUnsettled ?? Number.POSITIVE_INFINITY,
    )
    if (Number.isFinite(firstUnsettled))
      return { deliver_policy: 'by_start_sequence', opt_start_seq: firstUnsettled }
    return this.#settings.from === 'all' ? all : { deliver_policy: 'new' }
  }

  async #makeConsumer(names: HandlerNames, kind: 'events' | 'retries', start: object): Promise<void> {
    const stream = names.streams[kind]
    if (this.#settings.declare === 'none') throw new StreamMissingError(`${stream} > ${names.consumer}`)
    const config = { ...this.#consumerConfig(names, kind), ...start }
    await this.#jetstream.createConsumer(stream, config).catch(async error => {
      // Another process was faster.
      if ((await this.#jetstream.consumerInfo(stream, names.consumer)) === undefined) throw error
    })
  }

  async #declare(channel: string, kind: Kind, stream: string): Promise<{ info: StreamInfo; isNew: boolean }> {
    const found = await this.#jetstream.streamInfo(stream)
    const info = found ?? (await this.#create(channel, kind, stream))
    if (info.config.subjects?.[0] === makingSubject(stream)) await this.#finish(channel, info.config)
    else requireStream(info, subjectsOf(channel)[kind], kind)
    return { info, isNew: found === undefined }
  }

  /** A stream of events gets its subjects later: without its consumers it would lose what is published. */
  async #create(channel: string, kind: Kind, stream: string): Promise<StreamInfo> {
    this.#requireMaking(kind, stream)
    const subjects = kind === 'events' ? makingSubject(stream) : subjectsOf(channel)[kind]
    try {
      return await this.#jetstream.createStream(this.#config(stream, subjects, kind))
    } catch (error) {
      // Another process was faster, or the name belongs to a stream of somebody else.
      const made = isError(error, ERROR.streamNameInUse)
        ? await this.#jetstream.streamInfo(stream)
        : undefined
      if (made === undefined) throw error
      return made
    }
  }

  /**
   * Makes the consumers of a new stream of events, then gives it its subjects. The retry stream knows the handlers of all
   * processes. Several processes can do this at once, and one can go on after the death of another.
   */
  async #finish(channel: string, config: StreamInfo['config']): Promise<void> {
    this.#requireMaking('events', config.name)
    const all = { deliver_policy: 'all' }
    const { retries } = streamsOf(channel)
    for (const token of await this.#jetstream.consumerNames(retries)) {
      const info = await this.#jetstream.consumerInfo(retries, token)
      if (info === undefined) continue
      const { ack_wait } = info.config
      await this.#makeConsumer(namesOf(channel, fromToken(token)), 'events', { ...all, ack_wait })
    }
    for (const names of this.#handlers)
      if (names.channel === channel) await this.#makeConsumer(names, 'events', all)
    await this.#jetstream.updateStream({ ...config, subjects: [subjectsOf(channel).events] })
  }

  #requireMaking(kind: Kind, stream: string): void {
    const { declare } = this.#settings
    if (declare === 'none' || (declare === 'own' && kind === 'events')) throw new StreamMissingError(stream)
  }

  #config(name: string, subjects: string, kind: Kind): { readonly name: string } {
    const { replicas, retention } = this.#settings
    const retentions = {
      events: retention,
      retries: 'workqueue',
      state: 'limits',
      letters: 'limits',
    } as const
    return {
      name,
      ...{
        subjects: [subjects],
        retention: retentions[kind],
        storage: 'file',
        num_replicas: replicas,
        discard: 'new',
        max_msgs: UNLIMITED,
        max_bytes: UNLIMITED,
        max_age: 0,
        max_consumers: UNLIMITED,
        max_msg_size: UNLIMITED,
        // Of each state only the latest counts.
        max_msgs_per_subject: kind === 'state' ? 1 : UNLIMITED,
        duplicate_window: DUPLICATE_WINDOW_MS * NANOSECONDS_PER_MS,
        // For events of one key. Servers before 2.12 ignore it.
        ...(kind === 'events' && { allow_atomic: true }),
      },
    }
  }

  #consumerConfig({ consumer, retrySubject, handler }: HandlerNames, kind: 'events' | 'retries') {
    const { ackWaitMs } = this.#settings
    return {
      durable_name: consumer,
      description: `Lazaret handler ${handler}`.slice(0, 1_000),
      ack_policy: 'explicit',
      replay_policy: 'instant',
      ack_wait: ackWaitMs * NANOSECONDS_PER_MS,
      // Lazaret counts the attempts, and decides when an event is given up.
      max_deliver: UNLIMITED,
      // Retries wait as deliveries whose time has not come, and must not hold up others.
      max_ack_pending: kind === 'retries' ? UNLIMITED : MAX_ACK_PENDING,
      max_waiting: MAX_WAITING_PULLS,
      ...(kind === 'retries' ? { filter_subject: retrySubject } : undefined),
    }
  }
}

function doesTakeBatches(info: StreamInfo | undefined): boolean {
  return info?.config['allow_atomic'] === true
}

/** An operator may have limited the requests; a consumer of ours has no limits. */
function limitsOf(info: ConsumerInfo | undefined): PullLimits {
  const messages = Number(info?.config['max_batch'] ?? 0)
  const waitNs = Number(info?.config['max_expires'] ?? 0)
  return {
    messages: messages > 0 ? messages : Number.POSITIVE_INFINITY,
    waitMs: waitNs > 0 ? waitNs / NANOSECONDS_PER_MS : Number.POSITIVE_INFINITY,
  }
}
