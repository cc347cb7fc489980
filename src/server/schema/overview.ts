import * as z from 'zod'
import { count, faults, optional, optionalText, storeName, text, time } from './common.ts'
import { group } from './groups.ts'
import { replaySummary } from './replays.ts'
import { channelAlert } from './watch.ts'

export const storeHealth = z.object({
  name: storeName,
  url: text('The URL of the store, without credentials.'),
  up: z.boolean().describe('Whether the store answers.'),
  problem: optionalText('The error of a store that does not answer. Absent otherwise.'),
  letters: optional(count, 'The number of letters in the store. Absent when the store does not answer.'),
  sends: z.boolean().describe('Whether the server can send replays of letters in this store.'),
})
export type StoreHealth = z.infer<typeof storeHealth>

/** The numbers that the event stream sends too. */
export const overviewNumbers = z.object({
  at: time.describe('The time of the numbers.'),
  groups: z
    .object({
      open: count.describe('The number of open groups.'),
      waiting: count.describe('The number of open groups with waiting letters.'),
      new24h: count.describe('The number of open groups whose first failure is in the last 24 hours.'),
      regressed: count.describe('The number of open groups that have regressed.'),
    })
    .describe('The groups of all stores.'),
  letters: z
    .object({
      waiting: count.describe('The number of letters that are dead, quarantined or parked.'),
      total: count.describe('The number of letters in all states.'),
      oldestAt: optional(time, 'The earliest last failure of a waiting letter. Absent when none waits.'),
    })
    .describe('The letters of all stores.'),
  inflow: z
    .object({
      perMinute: z
        .array(count)
        .length(60)
        .describe(
          'The number of letters by the minute of their last failure: the last hour, oldest minute first.',
        ),
      lastHour: count.describe('The sum of these minutes.'),
      hourBefore: count.describe('The number of letters of the hour before.'),
    })
    .describe('The letters of the last two hours.'),
  breakers: z
    .object({
      open: count.describe('The number of open breakers, forced ones included.'),
      total: count.describe('The number of breakers.'),
    })
    .describe('The breakers of the consumers in this process and in the living processes of the fleet.'),
  consumers: z
    .object({
      paused: count.describe('The number of paused consumers.'),
      total: count.describe('The number of consumers.'),
    })
    .describe('The consumers in this process and in the living processes of the fleet.'),
  fleet: z
    .object({
      alive: count.describe('The number of living processes.'),
      gone: count.describe('The number of processes that stopped reporting without leaving.'),
    })
    .describe('The processes that report to the stores.'),
  replays: z
    .object({
      running: count.describe('The number of running replays.'),
      recovered: count.describe('The number of their letters that recovered.'),
      ended: count.describe('The number of their letters that recovered or failed again.'),
    })
    .describe('The running replays of all stores.'),
  expiring48h: optional(
    count,
    'The number of waiting letters that reach the expiry for undecided letters within 48 hours. Retention keeps those among them that have an `expiresAfterMs`. Absent when retention keeps undecided letters without limit.',
  ),
})
export type OverviewNumbers = z.infer<typeof overviewNumbers>

export const overview = overviewNumbers.extend({
  stores: z.array(storeHealth).describe('The stores of the server.'),
  topGroups: z.array(group).max(8).describe('The open groups to look at first.'),
  runningReplays: z.array(replaySummary).describe('The running replays.'),
  alerts: z.array(channelAlert).max(100).describe('The alerts of all channels, the latest first.'),
  faults,
})
export type Overview = z.infer<typeof overview>
