import * as z from 'zod'
import { breakerState, pauseReason } from './channels.ts'
import { count, share, storeName, time } from './common.ts'

export const alive = z.object({ status: z.literal('UP') })

export const ready = z.object({
  status: z.enum(['UP', 'DOWN']),
  stores: z.array(z.object({ name: z.string(), up: z.boolean(), problem: z.string().optional() })),
})
export type Ready = z.infer<typeof ready>

export const consumerHealth = z.object({
  status: z.enum(['UP', 'DEGRADED', 'DOWN']),
  breakerState: z.enum(['CLOSED', 'HALF_OPEN', 'OPEN']),
  /** Queues and stores are counted at the same moment, at most once a second, so a collected letter counts once. */
  dlqSize: count,
  lastProcessedAt: time.nullable(),
  failureRate: share,
  channels: z.array(
    z.object({
      channel: z.string(),
      handler: z.string(),
      breakerState,
      lastProcessedAt: time.optional(),
      failureRate: share,
      active: count,
      waiting: count,
      retrying: count,
      late: count,
      paused: z.array(pauseReason),
      /** How often a function among the options failed, so that its fallback was taken. */
      userFunctionFailures: count,
      /** Settlements that threw or that the broker did not take. */
      settlementFailures: count,
      /** Where the broker holds it up. Present only when it does. */
      stalled: z.array(z.enum(['deliveries', 'settlements', 'letters'])).optional(),
    }),
  ),
  /** The stores that do not answer, whose letters are not in dlqSize. Present only when there are some. */
  storesDown: z.array(storeName).optional(),
  /** The brokers that do not answer, whose dead-letter queues are not in dlqSize. Present only when there are some. */
  brokersDown: z.array(z.string()).optional(),
})
export type ConsumerHealth = z.infer<typeof consumerHealth>
