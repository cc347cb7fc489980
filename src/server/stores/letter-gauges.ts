import { OVERFLOW } from '../../core/metrics/series.ts'
import type { Clock } from '../../ports/clock.ts'
import type { LetterStats } from '../../ports/dead-letters.ts'
import type { GaugeReading } from '../../ports/metrics.ts'
import type { Federation } from './federation.ts'
import type { LocalConsumers } from './local-consumers.ts'
import { oldestOf, waitingStats } from './search-stats.ts'
import { TtlCache } from './ttl-cache.ts'

/** Several Prometheus servers may scrape at once. The stores are queried at most this often. */
const SIZES_CACHE_MS = 15_000
/** Each channel costs a query. An age stays exact, because the cache holds the time and not the age. */
const TIMES_CACHE_MS = 60_000
/** The channels with the most letters have their own series. The others share one. */
const MAX_CHANNELS = 50
const SECOND_MS = 1_000

interface ChannelSize {
  readonly channel: string
  readonly size: number
}

/** Reads the gauges of waiting letters: number and age of the oldest per channel, over all stores that answer. */
export class LetterGauges {
  readonly #stores: Federation
  readonly #consumers: LocalConsumers
  readonly #clock: Clock
  readonly #cache: TtlCache

  constructor(stores: Federation, consumers: LocalConsumers, clock: Clock) {
    this.#stores = stores
    this.#consumers = consumers
    this.#clock = clock
    this.#cache = new TtlCache(clock)
  }

  /** Rejects when no store answers. */
  async read(): Promise<readonly GaugeReading[]> {
    const { shown, others, oldestAt, silent } = await this.#sizes()
    const times = await this.#times(shown, silent)
    const ages = [...times].map(([channel, at]) => this.#age(channel, at))
    // If the oldest letter is older than those of all shown channels, it is in one of the other channels.
    const isElsewhere = oldestAt !== undefined && [...times.values()].every(at => at > oldestAt)
    return [
      ...shown.map(({ channel, size }) => sizeOf(channel, size)),
      ...(others === 0 ? [] : [sizeOf(OVERFLOW, others)]),
      ...ages,
      ...(isElsewhere && others > 0 ? [this.#age(OVERFLOW, oldestAt)] : []),
    ]
  }

  #sizes() {
    return this.#cache.get('sizes', SIZES_CACHE_MS, async () => {
      const { found, faults } = await this.#stores.each(({ store }) => waitingStats(store.deadLetters))
      const stats = found.flatMap(({ value }) => value)
      const sizes = addSizes(stats)
      // A channel with a consumer here has a series even without letters, so that alerts on it can resolve.
      for (const { health } of this.#consumers.all())
        if (!sizes.has(health.channel)) sizes.set(health.channel, 0)
      const sorted = Array.from(sizes, ([channel, size]): ChannelSize => ({ channel, size })).sort(
        (a, b) => b.size - a.size || (a.channel < b.channel ? -1 : 1),
      )
      const others = sorted.slice(MAX_CHANNELS).reduce((sum, { size }) => sum + size, 0)
      const silent = new Set(faults.map(({ store }) => store))
      return { shown: sorted.slice(0, MAX_CHANNELS), others, oldestAt: oldestOf(stats), silent }
    })
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
      const { found } = await this.#stores.each(async ({ name, store }) =>
        silent.has(name) ? [] : waitingStats(store.deadLetters, { channel }),
      )
      return oldestOf(found.flatMap(({ value }) => value))
    })
  }

  #age(channel: string, at: number): GaugeReading {
    const value = Math.max(0, this.#clock.now() - at) / SECOND_MS
    return { name: 'dlq_oldest_age_seconds', labels: { channel }, value }
  }
}

function sizeOf(channel: string, value: number): GaugeReading {
  return { name: 'dlq_size', labels: { channel }, value }
}

function addSizes(stats: readonly LetterStats[]): Map<string, number> {
  const sizes = new Map<string, number>()
  for (const { byChannel } of stats)
    for (const [channel, count] of Object.entries(byChannel))
      sizes.set(channel, (sizes.get(channel) ?? 0) + count)
  return sizes
}
