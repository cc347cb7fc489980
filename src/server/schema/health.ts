import * as z from 'zod'
import { count, optional, share, storeName, text, time } from './common.ts'
import { breakerState, pauseReason, stalledParts } from './consumers.ts'

export const alive = z.object({ status: z.literal('UP').describe('Always `UP`: the process answers.') })

export const ready = z.object({
  status: z.enum(['UP', 'DOWN']).describe('`UP` when every store answers, otherwise `DOWN`.'),
  stores: z
    .array(z.object({ name: storeName, up: z.boolean().describe('Whether the store answers.') }))
    .describe('The stores of the server.'),
})
export type Ready = z.infer<typeof ready>

export const consumerHealth = z.object({
  status: z
    .enum(['UP', 'DEGRADED', 'DOWN'])
    .describe(
      '`DOWN` with an open breaker, or in the fleet with a service that is gone. `DEGRADED` with too many dead letters, a stalled consumer, letters in a spill, or an unreachable store or broker. Otherwise `UP`.',
    ),
  breakerState: z.enum(['CLOSED', 'HALF_OPEN', 'OPEN']).describe('The worst state of all breakers.'),
  // Queues and stores are counted at the same moment, at most once a second, so a collected letter counts once.
  dlqSize: count.describe('The number of waiting letters in stores and dead-letter queues.'),
  lastProcessedAt: time.nullable().describe('The time of the last processed event; null before the first.'),
  failureRate: share.describe('The highest failure rate of the consumers, from 0 to 1.'),
  channels: z
    .array(
      z.object({
        channel: text('The channel of the consumer.'),
        handler: text('The name of the handler.'),
        breakerState,
        lastProcessedAt: optional(time, 'The time of the last processed event. Absent before the first.'),
        failureRate: share.describe('The share of attempts in the last minute that failed, from 0 to 1.'),
        active: count.describe('The number of attempts that run now.'),
        waiting: count.describe('The number of deliveries that the consumer holds and that wait.'),
        processes: optional(
          count,
          'The number of living processes with this consumer; the other values are those of all of them. Absent for a consumer of this process.',
        ),
        retrying: optional(
          count,
          'The number of waiting deliveries that wait for a retry. Absent for consumers of other processes.',
        ),
        late: optional(
          count,
          'The number of handler runs that continue after their timeout or after the consumer closed. Absent for consumers of other processes.',
        ),
        paused: z
          .array(pauseReason)
          .describe('The reasons why the consumer takes no events. Empty while the consumer takes events.'),
        userFunctionFailures: optional(
          count,
          'The number of times that a function of the options failed and the consumer used its fallback. Absent for consumers of other processes.',
        ),
        settlementFailures: optional(
          count,
          'The number of settlements that failed. The broker delivers these events again. Absent for consumers of other processes.',
        ),
        stalled: optional(
          stalledParts,
          'The parts of the subscription that the broker holds up. Absent when there are none.',
        ),
        spilled: optional(
          count,
          'The number of letters in the spill of the consumer. Absent when the spill is empty, and for consumers of other processes.',
        ),
      }),
    )
    .describe(
      'The consumers of this process. If it has none: those of the fleet, one for each handler of a channel.',
    ),
  fleet: optional(
    z.object({
      alive: count.describe('The number of processes that report.'),
      gone: z
        .array(z.string())
        .describe('The services without a living process whose last process did not leave in order.'),
    }),
    'The processes that report to the stores. Absent if this process has consumers.',
  ),
  storesDown: optional(
    z.array(storeName),
    'The stores that do not answer; `dlqSize` does not count their letters. Absent when all answer.',
  ),
  brokersDown: optional(
    z.array(z.string()),
    'The brokers that do not answer; `dlqSize` does not count their dead-letter queues. Absent when all answer.',
  ),
})
export type ConsumerHealth = z.infer<typeof consumerHealth>
