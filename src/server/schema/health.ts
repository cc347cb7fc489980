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
      paused: z.array(pauseReason),
    }),
  ),
  /** The stores that do not answer, whose letters are not in dlqSize. Present only when there are some. */
  storesDown: z.array(storeName).optional(),
  /** The brokers that do not answer, whose dead-letter queues are not in dlqSize. Present only when there are some. */
  brokersDown: z.array(z.string()).optional(),
})
export type ConsumerHealth = z.infer<typeof consumerHealth>
