import * as z from 'zod'
import { count, faults, share, storeName, time } from './common.ts'

export const alertRule = z.enum(['depth', 'age', 'dominance'])
export type AlertRule = z.infer<typeof alertRule>

/** `unknown`: fewer than three snapshots. */
export const trend = z.enum(['rising', 'falling', 'stable', 'unknown'])
export type Trend = z.infer<typeof trend>

/** A limit that a channel is beyond, or was until a moment ago: it ends after a few snapshots within the limit. */
export const channelAlert = z.object({
  store: storeName,
  channel: z.string(),
  rule: alertRule,
  since: time,
  /** As it is by now: letters for `depth`, milliseconds for `age`, a share for `dominance`. */
  value: z.number().min(0),
  limit: z.number().min(0),
  /** Of `dominance`: which error; its fingerprint is the id of its group. */
  error: z.object({ fingerprint: z.string(), name: z.string() }).optional(),
})
export type ChannelAlert = z.infer<typeof channelAlert>

/** How a channel stood when it was looked at last, over all stores. */
export const channelWatch = z.object({
  at: time,
  /** Dead, quarantined and parked letters, and messages in dead-letter queues that are not letters yet. */
  depth: count,
  /** The last failure of the one that waits longest. */
  oldestAt: time.optional(),
  /** How many wait for longer than the limit. */
  overAge: count,
  /** Attempts beyond the first, of those looked at. */
  averageRetries: z.number().min(0),
  /** So many were looked at for retries and errors: the newest. */
  sampled: count,
  /** The most frequent first; a fingerprint is the id of a group. */
  errors: z.array(z.object({ fingerprint: z.string(), name: z.string(), count, share })),
  trend,
  /** Of the last snapshots, which the trend is of; oldest first. */
  depths: z.array(count),
  alerts: z.array(channelAlert),
})
export type ChannelWatch = z.infer<typeof channelWatch>

/** One snapshot among those of a stretch of time. */
export const trendPoint = z.object({
  at: time,
  depth: count,
  overAge: count,
  averageRetries: z.number().min(0),
  oldestAt: time.optional(),
})
export type TrendPoint = z.infer<typeof trendPoint>

export const trendQuery = z.strictObject({ hours: z.coerce.number().min(0.1).max(168).default(24) })

/** At most 240 points, oldest first; where there were more, the highest of each stretch. */
export const channelTrend = z.object({
  channel: z.string(),
  from: time,
  to: time,
  points: z.array(trendPoint).max(240),
  faults,
})
export type ChannelTrend = z.infer<typeof channelTrend>
