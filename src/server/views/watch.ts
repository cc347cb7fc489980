import type { Masks } from '../../core/dead-letter/masks.ts'
import type { WatchPolicy } from '../../core/watch/options.ts'
import { trendOf } from '../../core/watch/trend.ts'
import { iso, isoOr } from '../schema/common.ts'
import type { ChannelAlert, ChannelWatch as ChannelWatchJson, TrendPoint } from '../schema/watch.ts'
import type { ChannelWatch } from '../watch/snapshot-reader.ts'
import { mergeSnapshots, type Point, sumSnapshots } from '../watch/sum-snapshots.ts'
import { pick } from './pick.ts'

/** The view of one channel over all stores that have it. */
export function watchView(
  watches: readonly ChannelWatch[],
  { trendOver, stableWithin }: WatchPolicy,
  masks: Masks,
): ChannelWatchJson | undefined {
  const [first] = watches
  if (first === undefined) return undefined
  const now = mergeSnapshots(watches.map(({ newestFirst }) => newestFirst[0]))
  const series = sumSnapshots(watches.map(({ newestFirst }) => newestFirst.toReversed()))
  const depths = series.slice(-trendOver).map(({ depth }) => depth)
  return {
    ...pick(now, 'depth', 'overAge', 'averageRetries', 'sampled'),
    at: iso(now.at),
    oldestAt: isoOr(now.oldestAt),
    errors: now.errors.map(({ fingerprint, name, count }) => ({
      fingerprint,
      name: masks.maskText(name),
      count,
      share: now.sampled === 0 ? 0 : Math.min(1, count / now.sampled),
    })),
    trend: trendOf(depths, stableWithin),
    depths,
    alerts: watches.flatMap(watch => alertViews(watch, masks)),
  }
}

export function alertViews({ store, channel, alerts }: ChannelWatch, masks: Masks): readonly ChannelAlert[] {
  return alerts.map(({ rule, since, value, limit, error }) => ({
    store,
    channel,
    rule,
    since: iso(since),
    value,
    limit,
    error: error && { fingerprint: error.fingerprint, name: masks.maskText(error.name) },
  }))
}

export function pointView({ at, depth, overAge, averageRetries, oldestAt }: Point): TrendPoint {
  return { at: iso(at), depth, overAge, averageRetries, oldestAt: isoOr(oldestAt) }
}
