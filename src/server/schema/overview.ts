import * as z from 'zod'
import { count, faults, storeName, time } from './common.ts'
import { group } from './groups.ts'
import { replaySummary } from './replays.ts'
import { channelAlert } from './watch.ts'

export const storeHealth = z.object({
  name: storeName,
  url: z.string(),
  up: z.boolean(),
  /** What is wrong, while it is not up. */
  problem: z.string().optional(),
  letters: count.optional(),
  /** Whether replays can be sent through it. */
  sends: z.boolean(),
})
export type StoreHealth = z.infer<typeof storeHealth>

/** The small numbers: they come over the stream too. */
export const overviewNumbers = z.object({
  at: time,
  /** Open ones; those first seen within 24 hours; those that came back. */
  groups: z.object({ open: count, new24h: count, regressed: count }),
  /** Dead, quarantined or parked; the oldest of them by its last failure. */
  letters: z.object({ waiting: count, total: count, oldestAt: time.optional() }),
  /** Letters by the minute of their last failure, oldest first. */
  inflow: z.object({ perMinute: z.array(count).length(60), lastHour: count, hourBefore: count }),
  breakers: z.object({ open: count, total: count }),
  consumers: z.object({ paused: count, total: count }),
  replays: z.object({ running: count, recovered: count, ended: count }),
  /** Undecided letters that retention deletes within 48 hours; absent if they are kept without limit. */
  expiring48h: count.optional(),
})
export type OverviewNumbers = z.infer<typeof overviewNumbers>

export const overview = overviewNumbers.extend({
  stores: z.array(storeHealth),
  topGroups: z.array(group).max(8),
  runningReplays: z.array(replaySummary),
  /** Channels beyond a limit, the latest first. */
  alerts: z.array(channelAlert).max(100),
  faults,
})
export type Overview = z.infer<typeof overview>
