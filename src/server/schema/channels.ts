import * as z from 'zod'
import { count, faults, optional, reason, share, text, time } from './common.ts'
import { breakerState, breakerStats, pauseReason } from './consumers.ts'
import { channelWatch } from './watch.ts'

/** A consumer that runs in the server's own process. */
export const channelConsumer = z.object({
  handler: text('The name of the handler.'),
  breaker: breakerState,
  retryAt: optional(time, 'The time at which the open breaker admits a probe. Absent in other states.'),
  breakerStats: optional(
    breakerStats,
    'The statistics of the breaker since the process started. Absent without a breaker.',
  ),
  paused: z
    .array(pauseReason)
    .describe('The reasons why the consumer takes no events. Empty while the consumer takes events.'),
  failureRate: share.describe('The share of attempts in the last minute that failed, from 0 to 1.'),
  active: count.describe('The number of attempts that run now.'),
  waiting: count.describe('The number of deliveries that the consumer holds and that wait.'),
  lastProcessedAt: optional(time, 'The time of the last processed event. Absent before the first.'),
  depth: optional(
    count,
    'The number of events that wait in the broker for this handler. Absent if the broker cannot count.',
  ),
})
export type ChannelConsumer = z.infer<typeof channelConsumer>

export const channel = z.object({
  channel: text('The name of the channel.'),
  consumers: z.array(channelConsumer).describe('The consumers of the channel in the process of the server.'),
  letters: z
    .object({
      waiting: count.describe('The number of letters that are dead, quarantined or parked.'),
      total: count.describe('The number of letters in all states.'),
    })
    .describe('The letters of the channel.'),
  inflow: z
    .object({
      perMinute: z
        .array(count)
        .length(60)
        .describe(
          'The number of letters by the minute of their last failure: the last hour, oldest minute first.',
        ),
      lastHour: count.describe('The sum of these minutes.'),
    })
    .describe('The letters of the last hour.'),
  watch: optional(channelWatch, 'The last snapshot of the channel. Absent before the first.'),
})
export type Channel = z.infer<typeof channel>

export const channelList = z.object({
  channels: z.array(channel).describe('The channels, those with the most waiting letters first.'),
  faults,
})
export type ChannelList = z.infer<typeof channelList>

export const oneChannel = z.strictObject({
  channel: z.string().min(1).max(500).describe('The name of the channel.'),
})

export const breakerBody = z.strictObject({
  handler: z.string().min(1).max(200).describe('The handler whose breaker to change.'),
  to: z
    .enum(['open', 'closed', 'auto'])
    .describe('`open` and `closed` force the breaker. `auto` lets the breaker decide again.'),
  reason,
})
export type BreakerBody = z.infer<typeof breakerBody>

export const pauseBody = z.strictObject({
  handler: optional(
    z.string().min(1).max(200),
    'The handler to pause or resume. The default is every handler of the channel.',
  ),
  reason,
})
export type PauseBody = z.infer<typeof pauseBody>
