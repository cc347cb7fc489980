import type { Cancel } from '../../../../ports/clock.ts'
import type { ConsumerInfo } from '../../connection/jetstream.ts'
import { ConsumerAheadError } from '../../errors.ts'
import { isSameConsumer } from '../streams/progress-record.ts'
import type { OutdatedConsumer } from '../streams/restarted-streams.ts'
import type { SubscriptionContext } from './context.ts'
import type { Source } from './entry.ts'

const REMAKE_AGAIN_MS = 500
/** How often we look whether somebody has made a consumer again that we report. */
const LOOK_AGAIN_MS = 5_000
/** A failure that goes away by itself, such as a leader that moves, is not reported. */
const UNREPORTED = 3

/**
 * The consumers that deliver to a subscription, by the time at which each was made. When a stream begins to count from 1 again,
 * the consumer that was known before is older than that, and is made again. One that another process has made since is left.
 */
export class KnownConsumers {
  readonly #context: SubscriptionContext
  readonly #created = new Map<Source, string>()
  /** Those that are not made again yet. */
  readonly #outdated = new Map<Source, OutdatedConsumer>()
  /** Those that were ahead of their streams, and that we may not make again. Publishers may have passed them since. */
  readonly #ahead = new Map<Source, ConsumerInfo>()
  #cancelRetry: Cancel = () => {}
  /** How many connections there were. */
  #connections = 0
  #failures = 0
  #isClosed = false

  constructor(context: SubscriptionContext) {
    this.#context = context
  }

  /** Whether what the server says of a consumer is about a stream that has begun again since. */
  get areOutdated(): boolean {
    return this.#outdated.size > 0
  }

  connected(): void {
    this.#connections++
  }

  /** The consumers exist. Where nothing may be declared, somebody else has made them, and they can be ahead of their streams. */
  found(): void {
    if (this.#context.settings.declare === 'none') this.remake()
  }

  close(): void {
    this.#isClosed = true
    this.#cancelRetry()
    this.#context.stalls.ended('deliveries', this)
  }

  /**
   * Finds out which consumer there is. Ask before the stream is looked at, and call the function that this resolves with if the stream
   * has not begun again. It does not reject, and nobody has to wait for it.
   */
  async look(source: Source): Promise<() => void> {
    const { jetstream, names } = this.#context
    const asked = jetstream.consumerInfo(names.streams[source], names.consumer)
    const info = await asked.catch(() => undefined)
    return () => {
      if (info !== undefined) this.#created.set(source, info.created)
    }
  }

  /** The stream counts from 1 again. */
  streamBeganAgain(source: Source): void {
    const { names } = this.#context
    const created = this.#created.get(source)
    if (created !== undefined)
      this.#outdated.set(source, { stream: names.streams[source], consumer: names.consumer, created })
    this.remake()
  }

  /**
   * Consumers that are ahead of their stream, or older than it, would skip the next messages. Settlements do not wait for this.
   * Where nothing may be declared, those that are ahead are reported.
   */
  remake(): void {
    const connection = this.#connections
    const isWanted = () => connection === this.#connections && !this.#isClosed
    this.#cancelRetry()
    this.#remake().catch(error => {
      const { settings, link, stalls } = this.#context
      if (!isWanted() || link.current === undefined) return
      const isReported = error instanceof ConsumerAheadError
      if (isReported || (this.areOutdated && ++this.#failures > UNREPORTED))
        stalls.stalled('deliveries', this, error)
      this.#cancelRetry()
      this.#cancelRetry = settings.clock.schedule(isReported ? LOOK_AGAIN_MS : REMAKE_AGAIN_MS, () => {
        if (isWanted()) this.remake()
      })
    })
  }

  async #remake(): Promise<void> {
    const { streams, names, settings, stalls } = this.#context
    const outdated = [...this.#outdated]
    await streams.remakeConsumersAhead(
      names.channel,
      outdated.map(([, consumer]) => consumer),
    )
    this.#failures = 0
    for (const [source, consumer] of outdated) {
      if (this.#outdated.get(source) === consumer) this.#outdated.delete(source)
      const know = await this.look(source)
      know()
    }
    if (settings.declare === 'none') await this.#requireNoneAhead()
    stalls.ended('deliveries', this)
  }

  /** One that was ahead has skipped messages, until somebody makes it again or the server sets it back. */
  async #requireNoneAhead(): Promise<void> {
    const { streams, names, jetstream } = this.#context
    for (const source of ['events', 'retries'] as const) {
      const stream = names.streams[source]
      const ahead = await streams.consumerAhead(names, source)
      if (ahead !== undefined) this.#ahead.set(source, ahead)
      const before = this.#ahead.get(source)
      if (before === undefined) continue
      const now = ahead ?? (await jetstream.consumerInfo(stream, names.consumer))
      if (now !== undefined && isSameConsumer(before.created, now.created) && !isBehind(now, before))
        throw new ConsumerAheadError(names.consumer, stream)
      this.#ahead.delete(source)
    }
  }
}

function isBehind(one: ConsumerInfo, other: ConsumerInfo): boolean {
  return one.delivered.stream_seq < other.delivered.stream_seq
}
