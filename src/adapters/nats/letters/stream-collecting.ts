import { FailureCache } from '../../../adapter-kit/collecting/failure-cache.ts'
import type { CollectedLetter } from '../../../adapter-kit/collecting/foreign-letter.ts'
import type { LetterSaver } from '../../../adapter-kit/collecting/letter-saver.ts'
import { matchesPattern } from '../../../core/options/pattern.ts'
import type { QueueDepth } from '../../../ports/broker.ts'
import type { JetStream, StoredMessage, StreamInfo } from '../connection/jetstream.ts'
import { ADVISORY_STREAM, ADVISORY_SUBJECT, type Advisory, readAdvisory } from './advisories.ts'
import { LettersRemovedError } from './errors.ts'
import { collect, collectUndelivered } from './letter.ts'
import type { NatsCollectorSettings } from './options.ts'
import type { Position, Positions } from './positions.ts'

/** The number of messages that are read and saved before the position is written. */
const SAVED_AT_ONCE = 200
/** Longer than anybody lets a letter wait. Advisories are small. */
const ADVISORIES_KEPT_NANOSECONDS = 30 * 24 * 3_600 * 1_000_000_000

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
  #isDeclared = false
  isCaughtUp = false

  constructor(settings: NatsCollectorSettings, jetstream: JetStream, positions: Positions) {
    this.#settings = settings
    this.#jetstream = jetstream
    this.#positions = positions
  }

  /** Reads and saves once. `isWanted` becomes false when the collector stops. */
  async collectOnce(saver: LetterSaver, isWanted: () => boolean): Promise<void> {
    this.isCaughtUp = false
    if (!this.#isDeclared) await this.#declare()
    let isCaughtUp = true
    for (const info of await this.#streamsNow()) {
      if (!isWanted()) return
      if (!(await this.#collectStream(info, saver, isWanted))) isCaughtUp = false
    }
    this.isCaughtUp = isCaughtUp
  }

  /** Counts the messages that are not letters yet. */
  async depths(): Promise<readonly QueueDepth[]> {
    const depths: QueueDepth[] = []
    for (const { config, created, state } of await this.#streamsNow()) {
      const stored = await this.#positions.read(config.name)
      const next = stored?.created === created ? stored.next : 0
      const left = state.last_seq + 1 - Math.max(next, state.first_seq)
      depths.push({ queue: config.name, depth: Math.max(0, Math.min(left, state.messages)) })
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
        max_age: ADVISORIES_KEPT_NANOSECONDS,
      })
    this.#isDeclared = true
  }

  /** The streams of the options that exist now. */
  async #streamsNow(): Promise<readonly StreamInfo[]> {
    const { streams, maxDeliver } = this.#settings
    const all = await this.#jetstream.streams()
    return all.filter(({ config: { name } }) =>
      name === ADVISORY_STREAM ? maxDeliver.length > 0 : matchesAny(streams, name),
    )
  }

  /** Whether everything that the stream had is saved. */
  async #collectStream(
    { config: { name: stream }, created, state }: StreamInfo,
    saver: LetterSaver,
    isWanted: () => boolean,
  ): Promise<boolean> {
    const known = this.#known.get(stream) ?? (await this.#positions.read(stream))
    const begun = known?.created === created ? known : { next: 1, created }
    if (begun.next > 1 && state.first_seq > begun.next)
      this.#settings.onError(new LettersRemovedError(stream, begun.next, state.first_seq))
    let next = Math.max(begun.next, state.first_seq)
    for (let read = 0; next <= state.last_seq && read < SAVED_AT_ONCE && isWanted(); read++) {
      const message = await this.#jetstream.message(stream, { seq: next, next_by_subj: '>' })
      if (message === undefined) next = state.last_seq + 1
      else if (await this.#save(stream, message, saver, isWanted)) next = message.sequence + 1
      else break
    }
    const reached = { next, created }
    if (next !== begun.next || known !== begun) await this.#positions.write(stream, reached)
    this.#known.set(stream, reached)
    return next > state.last_seq
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

  /** The message that an advisory is about, unless its stream has removed it. */
  async #undelivered({ stream, sequence }: Advisory): Promise<StoredMessage | undefined> {
    if ((await this.#jetstream.streamInfo(stream)) === undefined) return undefined
    return this.#jetstream.message(stream, { seq: sequence })
  }
}

function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some(pattern => matchesPattern(pattern, name))
}
