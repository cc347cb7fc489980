import { FailureCache } from '../../../adapter-kit/collecting/failure-cache.ts'
import type { CollectedLetter } from '../../../adapter-kit/collecting/foreign-letter.ts'
import type { LetterSaver } from '../../../adapter-kit/collecting/letter-saver.ts'
import { matchesPattern } from '../../../core/options/pattern.ts'
import type { QueueDepth } from '../../../ports/broker.ts'
import type { JetStream, StoredMessage, StreamInfo } from '../connection/jetstream.ts'
import { NANOSECONDS_PER_MS } from '../connection/nanoseconds.ts'
import { ADVISORY_STREAM, ADVISORY_SUBJECT, type Advisory, readAdvisory } from './advisories.ts'
import { LettersRemovedError, StreamRestartedError } from './errors.ts'
import { collect, collectUndelivered } from './letter.ts'
import type { NatsCollectorSettings } from './options.ts'
import { continueAt, type Position, type Positions } from './positions.ts'
import { UnreadableStreams } from './unreadable-streams.ts'

/** The number of messages that are read and saved before the position is written. */
const SAVED_AT_ONCE = 200
/** Longer than anybody lets a letter wait. Advisories are small. */
const ADVISORIES_KEPT_MS = 30 * 24 * 3_600_000
/** The clocks of two servers of a cluster may differ by so much. */
const MAX_CLOCK_DIFFERENCE_MS = 5_000

/**
 * Collects the streams one after the other: read, save, write the position. The position is written after the letters are
 * saved, so a crash repeats messages and loses none. A repeated message becomes the letter that it was before.
 */
export class StreamCollecting {
  readonly #settings: NatsCollectorSettings
  readonly #jetstream: JetStream
  readonly #positions: Positions
  readonly #failures = new FailureCache()
  readonly #known = new Map<string, Position>()
  readonly #unreadable: UnreadableStreams
  #isDeclared = false
  /** Whether every stream was read, and has no more messages. */
  isCaughtUp = false
  /** Whether a stream that can be read has more messages. */
  hasMore = false

  constructor(settings: NatsCollectorSettings, jetstream: JetStream, positions: Positions) {
    this.#settings = settings
    this.#jetstream = jetstream
    this.#positions = positions
    this.#unreadable = new UnreadableStreams(settings)
  }

  /** Reads and saves once. `isWanted` becomes false when the collector stops. */
  async collectOnce(saver: LetterSaver, isWanted: () => boolean): Promise<void> {
    this.isCaughtUp = false
    this.hasMore = false
    if (!this.#isDeclared) await this.#declare()
    const streams = await this.#streamsNow()
    const failures: unknown[] = []
    let unread = 0
    for (const stream of streams) {
      if (!isWanted()) return
      if (this.#unreadable.isResting(stream)) {
        unread++
        continue
      }
      try {
        if (!(await this.#collectStream(stream, saver, isWanted))) this.hasMore = true
        this.#unreadable.worked(stream)
      } catch (error) {
        unread++
        failures.push(error)
        this.#known.delete(stream)
        this.#unreadable.failed(stream, error)
      }
    }
    // Then it is not a problem of one stream.
    if (failures.length > 0 && failures.length === streams.length) throw failures[0]
    this.isCaughtUp = unread === 0 && !this.hasMore
  }

  /** Counts the messages that are not letters yet. */
  async depths(): Promise<readonly QueueDepth[]> {
    const depths: QueueDepth[] = []
    for (const queue of await this.#streamsNow()) {
      const info = await this.#jetstream.streamInfo(queue)
      if (info === undefined) continue
      const { next } = continueAt(await this.#positions.read(queue), info).position
      const { state } = info
      const left = state.last_seq + 1 - Math.max(next, state.first_seq)
      depths.push({ queue, depth: Math.max(0, Math.min(left, state.messages)) })
    }
    return depths
  }

  async #declare(): Promise<void> {
    const { replicas } = this.#settings.connection
    await this.#positions.declare(replicas)
    const isNeeded = this.#settings.maxDeliver.length > 0
    if (isNeeded && (await this.#jetstream.streamInfo(ADVISORY_STREAM)) === undefined)
      await this.#jetstream.createStream({
        name: ADVISORY_STREAM,
        subjects: [ADVISORY_SUBJECT],
        num_replicas: replicas,
        max_age: ADVISORIES_KEPT_MS * NANOSECONDS_PER_MS,
      })
    this.#isDeclared = true
  }

  /** The names of the streams of the options that exist now. */
  async #streamsNow(): Promise<readonly string[]> {
    const { streams, maxDeliver } = this.#settings
    const all = await this.#jetstream.streamNames()
    return all.filter(name => (name === ADVISORY_STREAM ? maxDeliver.length > 0 : matchesAny(streams, name)))
  }

  /** Whether everything that the stream had is saved. */
  async #collectStream(stream: string, saver: LetterSaver, isWanted: () => boolean): Promise<boolean> {
    // The list of all streams leaves out what a server does not answer in time, or shows it as empty.
    const info = await this.#jetstream.streamInfo(stream)
    if (info === undefined) return true
    const { state, created } = info
    const begun = await this.#begin(stream, info)
    let { readAt } = begun
    let next = Math.max(begun.next, state.first_seq)
    for (let read = 0; next <= state.last_seq && read < SAVED_AT_ONCE && isWanted(); read++) {
      const message = await this.#jetstream.message(stream, { seq: next, next_by_subj: '>' })
      if (message === undefined) next = state.last_seq + 1
      else if (await this.#save(stream, message, saver, isWanted)) {
        next = message.sequence + 1
        readAt = message.storedAt
      } else break
    }
    const reached = { next, created, readAt }
    if (next !== begun.next || this.#known.get(stream) !== begun) await this.#positions.write(stream, reached)
    this.#known.set(stream, reached)
    return next > state.last_seq
  }

  /** Where the reading of a stream begins. Reports messages that are gone, and a stream that counts from 1 again. */
  async #begin(stream: string, info: StreamInfo): Promise<Position> {
    const stored = this.#known.get(stream) ?? (await this.#positions.read(stream))
    if (stored !== undefined) this.#known.set(stream, stored)
    const { position, isRestarted } = continueAt(stored, info)
    const { first_seq } = info.state
    const { onError } = this.#settings
    if (isRestarted) onError(new StreamRestartedError(stream, stored!.next))
    else if (position.next > 1 && first_seq > position.next)
      onError(new LettersRemovedError(stream, position.next, first_seq))
    return position
  }

  async #save(
    stream: string,
    message: StoredMessage,
    saver: LetterSaver,
    isWanted: () => boolean,
  ): Promise<boolean> {
    const collected = await this.#letterOf(stream, message)
    if (collected === undefined) return true
    const { letter, isTimeKnown } = collected
    return saver.save({ letter, content: message.data, mayBeKnown: !isTimeKnown }, isWanted)
  }

  async #letterOf(stream: string, message: StoredMessage): Promise<CollectedLetter | undefined> {
    const { connection, originalSubjects, maxDeliver } = this.#settings
    const { name: broker, clock } = connection
    const context = { broker, originalSubjects, now: clock.now(), failures: this.#failures }
    if (stream !== ADVISORY_STREAM) return collect(stream, message, context)
    const advisory = readAdvisory(message.data)
    if (advisory === undefined || !matchesAny(maxDeliver, advisory.stream)) return undefined
    return collectUndelivered(advisory, await this.#undelivered(advisory), stream, context)
  }

  /** The message that an advisory is about, unless its stream has removed it or was made again since. */
  async #undelivered({ stream, sequence, at }: Advisory): Promise<StoredMessage | undefined> {
    if ((await this.#jetstream.streamInfo(stream)) === undefined) return undefined
    const message = await this.#jetstream.message(stream, { seq: sequence })
    const isOther = message !== undefined && message.storedAt > at + MAX_CLOCK_DIFFERENCE_MS
    return isOther ? undefined : message
  }
}

function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some(pattern => matchesPattern(pattern, name))
}
