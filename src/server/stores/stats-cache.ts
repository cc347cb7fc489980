import type { Clock } from '../../ports/clock.ts'
import type { LetterFilter, LetterStats } from '../../ports/dead-letters.ts'
import type { Group, GroupQuery } from '../../ports/groups.ts'
import { isoOr } from '../schema/common.ts'
import type { LetterStats as StatsJson } from '../schema/letters.ts'
import type { NamedStore } from './federation.ts'
import { TtlCache } from './ttl-cache.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const SPARKLINE_HOURS = 24
const INFLOW_MINUTES = 120
/** Past hours rarely change and are the larger part to count, so their cache lives longer. */
const PAST_CACHE_MS = MINUTE_MS
const PRESENT_CACHE_MS = 2_000
const GROUPS_CACHE_MS = 1_000
const GROUP_PAGE = 1_000
/** A person does not look through more groups than this. The list has those that were seen last. */
const MAX_GROUPS = 5_000

/** The rankings that are kept at a time. One takes less than a megabyte. */
const MAX_RANKINGS = 50
/** A person who reads on later gets the pages by position. */
const RANKING_MS = 10 * MINUTE_MS

/** Caches counts that many consoles request, so that the stores count once for all of them. */
export class StatsCache {
  readonly #clock: Clock
  readonly #times: TtlCache
  readonly #groups: TtlCache
  readonly #rankings = new Map<string, { readonly names: readonly string[]; readonly keptAt: number }>()
  #lastRanking = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#times = new TtlCache(clock)
    this.#groups = new TtlCache(clock)
  }

  /** Letters of a group by the hour, the last 24 hours, oldest first. */
  sparkline(named: NamedStore, group: string): Promise<readonly number[]> {
    return this.#series(named, { group }, { bucketMs: HOUR_MS, past: SPARKLINE_HOURS - 1, present: 1 })
  }

  /** Letters by the minute, the last two hours, oldest first. */
  inflow(named: NamedStore, filter: LetterFilter): Promise<readonly number[]> {
    return this.#series(named, filter, { bucketMs: MINUTE_MS, past: INFLOW_MINUTES - 2, present: 2 })
  }

  /** The series ends with the current minute, so that all requests within a minute share one cache entry. */
  async #series(
    { name, store }: NamedStore,
    filter: LetterFilter,
    {
      bucketMs,
      past,
      present,
    }: { readonly bucketMs: number; readonly past: number; readonly present: number },
  ): Promise<readonly number[]> {
    const end = (Math.floor(this.#clock.now() / MINUTE_MS) + 1) * MINUTE_MS
    const ask = (keptMs: number, from: number, buckets: number) =>
      this.#times.get(`${name} ${from} ${bucketMs} ${JSON.stringify(filter)}`, keptMs, () =>
        store.deadLetters.timeline(filter, { from, bucketMs, buckets }),
      )
    const parts = await Promise.all([
      ask(PAST_CACHE_MS, end - (past + present) * bucketMs, past),
      ask(PRESENT_CACHE_MS, end - present * bucketMs, present),
    ])
    return parts.flat()
  }

  /** The groups that match, last seen first, up to MAX_GROUPS. */
  groups({ name, store }: NamedStore, query: GroupQuery = {}): Promise<readonly Group[]> {
    return this.#groups.get(`${name} ${JSON.stringify(query)}`, GROUPS_CACHE_MS, async () => {
      const groups: Group[] = []
      let cursor: string | undefined
      do {
        const page = await store.groups.list({ ...query, limit: GROUP_PAGE, cursor })
        groups.push(...page.groups)
        cursor = page.cursor
      } while (cursor !== undefined && groups.length < MAX_GROUPS)
      return groups
    })
  }

  /** Keeps the order of a list whose ranks change while a person reads it, and returns the name of that order. */
  keepRanking(names: readonly string[]): string {
    const now = this.#clock.now()
    for (const [name, kept] of this.#rankings)
      if (kept.names.length === names.length && kept.names.every((each, at) => each === names[at])) {
        this.#rankings.set(name, { names, keptAt: now })
        return name
      }
    const [oldest] = this.#rankings.keys()
    if (oldest !== undefined && this.#rankings.size >= MAX_RANKINGS) this.#rankings.delete(oldest)
    const name = `${now}-${++this.#lastRanking}`
    this.#rankings.set(name, { names, keptAt: now })
    return name
  }

  /** The order that was kept. Undefined if that is too long ago, or another process kept it. */
  ranking(name: string): readonly string[] | undefined {
    const kept = this.#rankings.get(name)
    return kept !== undefined && this.#clock.now() - kept.keptAt < RANKING_MS ? kept.names : undefined
  }

  /** Drops cached groups after a change, so that the caller sees it. Failure times do not change, so series stay. */
  clear(): void {
    this.#groups.clear()
  }
}

/** Sums of several stores. */
export function addStats(stats: readonly LetterStats[]): StatsJson {
  const oldest = stats.flatMap(({ oldestAt }) => (oldestAt === undefined ? [] : [oldestAt]))
  const newest = stats.flatMap(({ newestAt }) => (newestAt === undefined ? [] : [newestAt]))
  return {
    count: stats.reduce((sum, { count }) => sum + count, 0),
    ...(stats.some(({ atLeast }) => atLeast) ? { atLeast: true } : {}),
    oldestAt: isoOr(oldest.length === 0 ? undefined : Math.min(...oldest)),
    newestAt: isoOr(newest.length === 0 ? undefined : Math.max(...newest)),
    byState: addCounts(stats.map(({ byState }) => byState)),
    byReason: addCounts(stats.map(({ byReason }) => byReason)),
    byChannel: addCounts(stats.map(({ byChannel }) => byChannel)),
  }
}

/** A channel may have any name, also one that an object's prototype uses; fromEntries makes own properties only. */
function addCounts(counts: readonly Readonly<Record<string, number | undefined>>[]): Record<string, number> {
  const sums = new Map<string, number>()
  for (const [name, count = 0] of counts.flatMap(Object.entries<number | undefined>))
    sums.set(name, (sums.get(name) ?? 0) + count)
  return Object.fromEntries(sums)
}

export function addSeries(series: readonly (readonly number[])[], length: number): number[] {
  return Array.from({ length }, (_, index) => series.reduce((sum, each) => sum + (each[index] ?? 0), 0))
}
