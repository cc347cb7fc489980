import { OVERFLOW } from '../../core/metrics/series.ts'
import type { Clock } from '../../ports/clock.ts'
import type { LetterStats } from '../../ports/dead-letters.ts'
import type { GaugeReading } from '../../ports/metrics.ts'
import type { Federation } from './federation.ts'
import type { LocalConsumers } from './local-consumers.ts'
import { oldestOf, waitingStats } from './search-stats.ts'
import { TtlCache } from './ttl-cache.ts'

/** Scrapes come often, and from several sides; stores are asked no more often than this. */
const SIZES_CACHE_MS = 15_000
/** Each channel costs a query. An age is still right, because the cache holds the time and not the age. */
const TIMES_CACHE_MS = 60_000
/** Those with most letters. The others are told as one. */
const MAX_CHANNELS = 50
const SECOND_MS = 1_000

interface ChannelSize {
  readonly channel: string
  readonly size: number
}

/** How many letters wait in each channel, over all stores that answer, and how old the oldest of them is. */
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
    // The channel of the oldest letter is unknown; if the letter is older than those of all listed channels, it is in
    // another one.
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
      // A channel that is consumed here has a series before its first letter, and after its last.
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

  /** When the oldest of each channel last failed; those that have none are left out. */
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

  /** A store that was silent just now is not waited for once more: a scrape has no time for that. */
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
