import type { Retention } from '../../core/dead-letter/retention.ts'
import { countWaiting } from '../../core/dead-letter/state.ts'
import type { Clock } from '../../ports/clock.ts'
import type { LetterStats } from '../../ports/dead-letters.ts'
import type { Group } from '../../ports/groups.ts'
import { breakerGauge } from '../../runtime/breaker.ts'
import { iso, isoOr } from '../schema/common.ts'
import type { OverviewNumbers } from '../schema/overview.ts'
import type { Federation, StoreAnswers } from './federation.ts'
import type { FleetReader } from './fleet-reader.ts'
import type { LocalConsumers } from './local-consumers.ts'
import { countOf, oldestOf, waitingStats } from './search-stats.ts'
import { addSeries, type StatsCache } from './stats-cache.ts'

const DAY_MS = 86_400_000
const MINUTES_SHOWN = 60
const MAX_RUNNING = 50
/** The gauge of an open breaker, also of a forced one. */
const BREAKER_OPEN = 2

/** The sources of the overview numbers. */
export interface NumberSources {
  readonly stores: Federation
  readonly consumers: LocalConsumers
  readonly fleet: FleetReader
  readonly statsCache: StatsCache
  readonly retention: Retention
  readonly clock: Clock
}

interface StoreNumbers {
  readonly stats: LetterStats
  readonly oldestAt: number | undefined
  readonly inflow: readonly number[]
  readonly groups: readonly Group[]
  readonly replays: OverviewNumbers['replays']
  readonly expiring: number | undefined
}

/** Reads the numbers of the overview from all stores that answer. */
export function gatherNumbers(sources: NumberSources): Promise<StoreAnswers<StoreNumbers>> {
  const { stores, statsCache, retention, clock } = sources
  const { expireUndecidedAfterMs } = retention
  return stores.each(async named => {
    const { deadLetters, replays } = named.store
    const [stats, waiting, inflow, groups, running, expiring] = await Promise.all([
      deadLetters.stats(),
      waitingStats(deadLetters),
      statsCache.inflow(named, {}),
      statsCache.groups(named),
      replays.list({ state: 'running', limit: MAX_RUNNING }),
      expireUndecidedAfterMs === 'never'
        ? undefined
        : waitingStats(deadLetters, { before: clock.now() + 2 * DAY_MS - expireUndecidedAfterMs }),
    ])
    const counts = await Promise.all(running.map(({ id }) => replays.counts(id)))
    const recovered = counts.reduce((sum, each) => sum + each.recovered, 0)
    const again = counts.reduce((sum, each) => sum + each.failed_same_cause + each.failed_new_cause, 0)
    return {
      stats,
      oldestAt: oldestOf(waiting),
      inflow,
      groups,
      replays: { running: running.length, recovered, ended: recovered + again },
      expiring: expiring && countOf(expiring),
    }
  })
}

/** Adds the numbers of the stores, of the consumers of this process and of the fleet. */
export async function addNumbers(
  sources: NumberSources,
  { found }: StoreAnswers<StoreNumbers>,
): Promise<OverviewNumbers> {
  const now = sources.clock.now()
  const numbers = found.map(({ value }) => value)
  const sum = (of: (each: StoreNumbers) => number) => numbers.reduce((total, each) => total + of(each), 0)
  const oldest = numbers.flatMap(({ oldestAt }) => (oldestAt === undefined ? [] : [oldestAt]))
  const open = numbers.flatMap(({ groups }) => groups.filter(({ state }) => state === 'open'))
  const inflow = addSeries(
    numbers.map(each => each.inflow),
    2 * MINUTES_SHOWN,
  )
  const instances = await sources.fleet.instances()
  const consumers = [
    ...sources.consumers.all().map(({ health }) => ({ ...health, breaker: health.breakerState })),
    ...(await sources.fleet.remoteConsumers()),
  ]
  const total = (of: readonly number[]) => of.reduce((all, each) => all + each, 0)
  return {
    at: iso(now),
    groups: {
      open: open.length,
      waiting: open.filter(({ waiting }) => waiting > 0).length,
      new24h: open.filter(({ firstSeenAt }) => firstSeenAt > now - DAY_MS).length,
      regressed: open.filter(({ regressed }) => regressed).length,
    },
    letters: {
      waiting: sum(({ stats }) => countWaiting(stats.byState)),
      total: sum(({ stats }) => stats.count),
      oldestAt: isoOr(oldest.length === 0 ? undefined : Math.min(...oldest)),
    },
    inflow: {
      perMinute: inflow.slice(MINUTES_SHOWN),
      lastHour: total(inflow.slice(MINUTES_SHOWN)),
      hourBefore: total(inflow.slice(0, MINUTES_SHOWN)),
    },
    breakers: {
      open: consumers.filter(({ breaker }) => breakerGauge(breaker) === BREAKER_OPEN).length,
      total: consumers.filter(({ breaker }) => breaker !== 'off').length,
    },
    consumers: {
      paused: consumers.filter(({ paused }) => paused.length > 0).length,
      total: consumers.length,
    },
    fleet: {
      alive: instances.filter(({ state }) => state === 'alive').length,
      gone: instances.filter(({ state }) => state === 'gone').length,
    },
    replays: {
      running: sum(({ replays }) => replays.running),
      recovered: sum(({ replays }) => replays.recovered),
      ended: sum(({ replays }) => replays.ended),
    },
    expiring48h:
      sources.retention.expireUndecidedAfterMs === 'never' ? undefined : sum(each => each.expiring ?? 0),
  }
}
