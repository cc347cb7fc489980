import { OVERFLOW } from '../../core/metrics/series.ts'
import type { Clock } from '../../ports/clock.ts'
import type { HandlerCount, LetterStats } from '../../ports/dead-letters.ts'
import type { GaugeReading } from '../../ports/metrics.ts'
import type { Federation } from './federation.ts'
import type { LocalConsumers } from './local-consumers.ts'
import { oldestOf, waitingByHandler, waitingStats } from './search-stats.ts'
import { TtlCache } from './ttl-cache.ts'

/** Several Prometheus servers may scrape at once. The stores are queried at most this often. */
const SIZES_CACHE_MS = 15_000
/** Each channel costs a query. An age stays exact, because the cache holds the time and not the age. */
const TIMES_CACHE_MS = 60_000
/** The channels with the most letters have their own series. The others share one. */
const MAX_CHANNELS = 50
/** The same of a channel's handlers and sinks. */
const MAX_HANDLERS = 10
/** Channels come and go. Only those that are shown now matter. */
const MAX_TIMES = 1_000
const SECOND_MS = 1_000

interface ChannelSize {
  readonly channel: string
  readonly size: number
  /** Largest first. */
  readonly byHandler: readonly (readonly [handler: string, size: number])[]
}

interface StoreCounts {
  readonly stats: readonly LetterStats[]
  readonly counts: readonly HandlerCount[]
}

/**
 * Reads the gauges of waiting letters, over all stores: their number per channel and handler, and the age of the oldest per
 * channel. A store that does not answer counts with its last answer: its letters still wait, and without them an alert on
 * them would resolve.
 */
export class LetterGauges {
  readonly #stores: Federation
  readonly #consumers: LocalConsumers
  readonly #clock: Clock
  readonly #cache: TtlCache
  readonly #lastCounts = new Map<string, StoreCounts>()
  /** The last failure of the oldest letter, by channel and store. */
  readonly #lastTimes = new Map<string, Map<string, number | undefined>>()

  constructor(stores: Federation, consumers: LocalConsumers, clock: Clock) {
    this.#stores = stores
    this.#consumers = consumers
    this.#clock = clock
    this.#cache = new TtlCache(clock)
  }

  /** Rejects when no store has answered yet. */
  async read(): Promise<readonly GaugeReading[]> {
    const { shown, others, oldestAt, silent } = await this.#sizes()
    const times = await this.#times(shown, silent)
    const ages = [...times].map(([channel, at]) => this.#age(channel, at))
    // If the oldest letter is older than those of all shown channels, it is in one of the other channels.
    const isElsewhere = oldestAt !== undefined && [...times.values()].every(at => at > oldestAt)
    return [
      ...shown.flatMap(sizesOf),
      ...(others === 0 ? [] : [sizeOf(OVERFLOW, OVERFLOW, others)]),
      ...ages,
      ...(isElsewhere && others > 0 ? [this.#age(OVERFLOW, oldestAt)] : []),
    ]
  }

  #sizes() {
    return this.#cache.get('sizes', SIZES_CACHE_MS, async () => {
      const silent = await this.#countStores()
      const known = [...this.#lastCounts.values()]
      const stats = known.flatMap(each => each.stats)
      // A consumer here has a series even without letters, so that alerts on it can resolve: once all stores have answered.
      const isComplete = this.#lastCounts.size === this.#stores.all.length
      const here = (isComplete ? this.#consumers.all() : []).map(({ health: { channel, handler } }) => ({
        channel,
        handler,
        count: 0,
      }))
      const sorted = channelSizes([...known.flatMap(({ counts }) => counts), ...here])
      const others = sorted.slice(MAX_CHANNELS).reduce((sum, { size }) => sum + size, 0)
      return { shown: sorted.slice(0, MAX_CHANNELS), others, oldestAt: oldestOf(stats), silent }
    })
  }

  /** Returns the stores that do not answer. */
  async #countStores(): Promise<ReadonlySet<string>> {
    try {
      const { found, faults } = await this.#stores.each(async ({ store: { deadLetters } }) => {
        const [stats, counts] = await Promise.all([waitingStats(deadLetters), waitingByHandler(deadLetters)])
        return { stats, counts: counts ?? stats.flatMap(countsWithoutHandler) }
      })
      for (const { name, value } of found) this.#lastCounts.set(name, value)
      return new Set(faults.map(({ store }) => store))
    } catch (error) {
      if (this.#lastCounts.size === 0) throw error
      return new Set(this.#stores.all.map(({ name }) => name))
    }
  }

  /** The last failure of the oldest letter per channel. Channels without letters are omitted. */
  async #times(
    shown: readonly ChannelSize[],
    silent: ReadonlySet<string>,
  ): Promise<ReadonlyMap<string, number>> {
    const times = await Promise.all(
      shown.map(
        async ({ channel, size }) =>
          [channel, size === 0 ? undefined : await this.#timeOf(channel, silent)] as const,
      ),
    )
    return new Map(times.flatMap(([channel, at]) => (at === undefined ? [] : [[channel, at] as const])))
  }

  /** Skips stores that just timed out: a scrape cannot wait for a second timeout. */
  #timeOf(channel: string, silent: ReadonlySet<string>): Promise<number | undefined> {
    return this.#cache.get(`oldest ${channel}`, TIMES_CACHE_MS, async () => {
      const times = this.#lastTimes.get(channel) ?? new Map<string, number | undefined>()
      if (this.#lastTimes.size >= MAX_TIMES) this.#lastTimes.clear()
      this.#lastTimes.set(channel, times)
      await this.#stores.each(async ({ name, store }) => {
        if (!silent.has(name)) times.set(name, oldestOf(await waitingStats(store.deadLetters, { channel })))
      })
      const known = [...times.values()].filter(at => at !== undefined)
      return known.length === 0 ? undefined : Math.min(...known)
    })
  }

  #age(channel: string, at: number): GaugeReading {
    const value = Math.max(0, this.#clock.now() - at) / SECOND_MS
    return { name: 'dlq_oldest_age_seconds', labels: { channel }, value }
  }
}

function sizeOf(channel: string, name: string, value: number): GaugeReading {
  return { name: 'dlq_size', labels: { channel, name }, value }
}

function sizesOf({ channel, byHandler }: ChannelSize): readonly GaugeReading[] {
  const others = byHandler.slice(MAX_HANDLERS).reduce((sum, [, size]) => sum + size, 0)
  return [
    ...byHandler.slice(0, MAX_HANDLERS).map(([handler, size]) => sizeOf(channel, handler, size)),
    ...(others === 0 ? [] : [sizeOf(channel, OVERFLOW, others)]),
  ]
}

/** A store that cannot count by handler: its letters have the overflow as their name. */
function countsWithoutHandler({ byChannel }: LetterStats): readonly HandlerCount[] {
  return Object.entries(byChannel).map(([channel, count]) => ({ channel, handler: OVERFLOW, count }))
}

/** The channels with their handlers, largest first. */
function channelSizes(counts: readonly HandlerCount[]): readonly ChannelSize[] {
  const channels = new Map<string, Map<string, number>>()
  for (const { channel, handler, count } of counts) {
    const byHandler = channels.get(channel) ?? new Map<string, number>()
    channels.set(channel, byHandler)
    byHandler.set(handler, (byHandler.get(handler) ?? 0) + count)
  }
  return Array.from(channels, ([channel, byHandler]): ChannelSize => {
    const sizes = [...byHandler].sort(([a, sizeA], [b, sizeB]) => sizeB - sizeA || (a < b ? -1 : 1))
    return { channel, size: sizes.reduce((sum, [, size]) => sum + size, 0), byHandler: sizes }
  }).sort((a, b) => b.size - a.size || (a.channel < b.channel ? -1 : 1))
}
