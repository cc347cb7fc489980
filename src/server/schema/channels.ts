import * as z from 'zod'
import { count, faults, reason, share, time } from './common.ts'
import { channelWatch } from './watch.ts'

export const breakerState = z.enum(['closed', 'open', 'half-open', 'forced-open', 'forced-closed', 'off'])
export type BreakerState = z.infer<typeof breakerState>

/**
 * `breaker`: the dependency fails. `store`: letters cannot be saved. `ledger`: it does not answer. `manual`: by a
 * person.
 */
export const pauseReason = z.enum(['breaker', 'store', 'ledger', 'manual'])
export type PauseReason = z.infer<typeof pauseReason>

/** A consumer that runs in the server's own process. */
export const channelConsumer = z.object({
  handler: z.string(),
  breaker: breakerState,
  /** When an open breaker lets a probe through; absent otherwise. */
  retryAt: time.optional(),
  /** Why it does not pull; empty while it does. */
  paused: z.array(pauseReason),
  /** Of the last minute. */
  failureRate: share,
  active: count,
  waiting: count,
  lastProcessedAt: time.optional(),
  /** Events that wait in the broker for this handler; absent where it does not tell. */
  depth: count.optional(),
})
export type ChannelConsumer = z.infer<typeof channelConsumer>

export const channel = z.object({
  channel: z.string(),
  consumers: z.array(channelConsumer),
  letters: z.object({ waiting: count, total: count }),
  /** Letters by the minute of their last failure: the last hour, oldest first. */
  inflow: z.object({ perMinute: z.array(count).length(60), lastHour: count }),
  /** How it stood at the last snapshot; absent before the first. */
  watch: channelWatch.optional(),
})
export type Channel = z.infer<typeof channel>

export const channelList = z.object({ channels: z.array(channel), faults })
export type ChannelList = z.infer<typeof channelList>

export const oneChannel = z.strictObject({ channel: z.string().min(1).max(500) })

export const breakerBody = z.strictObject({
  handler: z.string().min(1).max(200),
  to: z.enum(['open', 'closed', 'auto']),
  reason,
})
export type BreakerBody = z.infer<typeof breakerBody>

/** Without a handler: all of the channel. */
export const pauseBody = z.strictObject({ handler: z.string().min(1).max(200).optional(), reason })
export type PauseBody = z.infer<typeof pauseBody>
