import * as z from 'zod'
import { count, optional, share, text, time } from './common.ts'

export const breakerState = z
  .enum(['closed', 'open', 'half-open', 'forced-open', 'forced-closed', 'off'])
  .describe('The state of the breaker; `off` without a breaker.')
export type BreakerState = z.infer<typeof breakerState>

/** The statistics of a breaker since its process started. */
export const breakerStats = z.object({
  calls: count.describe('The number of attempts that the breaker admitted.'),
  successes: count.describe('The number of attempts that succeeded.'),
  failures: count.describe('The number of attempts that failed because of the dependency.'),
  rejected: count.describe('The number of attempts that the breaker refused.'),
  opened: count.describe('The number of times that the breaker opened.'),
  lastFailureAt: optional(time, 'The time of the last such failure. Absent before the first.'),
  lastChangeAt: optional(time, 'The time of the last change of state. Absent before the first.'),
})
export type BreakerStats = z.infer<typeof breakerStats>

/**
 * `breaker`: the dependency fails. `store`: the consumer cannot save letters. `ledger`: the ledger does not answer.
 * `manual`: a person paused the consumer.
 */
export const pauseReason = z.enum(['breaker', 'store', 'ledger', 'manual'])
export type PauseReason = z.infer<typeof pauseReason>

/** The breakers of the same consumer or sink in several processes. */
export const breakerCounts = z
  .array(
    z.object({
      state: breakerState,
      processes: count.describe('The number of processes in which the breaker has this state.'),
    }),
  )
  .describe('The states of the breaker, with the number of processes in each.')
export type BreakerCounts = z.infer<typeof breakerCounts>

/** The parts of a consumer that its broker can hold up. */
export const stalledParts = z.array(z.enum(['deliveries', 'settlements', 'letters']))
export type StalledParts = z.infer<typeof stalledParts>

/** A consumer of one process, or the sum of the same consumer in several. */
export const consumerNumbers = z.object({
  handler: text('The name of the handler.'),
  breaker: breakerState,
  paused: z
    .array(pauseReason)
    .describe('The reasons why the consumer takes no events. Empty while the consumer takes events.'),
  stalled: optional(stalledParts, 'What the broker holds up. Absent while the broker holds up nothing.'),
  perMinute: z.number().min(0).describe('The number of events that ended in the last minute.'),
  failureRate: share.describe('The share of them that was retried or became dead letters, from 0 to 1.'),
  active: count.describe('The number of attempts that run now.'),
  waiting: count.describe('The number of deliveries that the consumer holds and that wait.'),
  lastProcessedAt: optional(time, 'The time of the last processed event. Absent before the first.'),
})

/** The sum of the same consumer in all living processes. */
export const consumerSum = consumerNumbers.extend({
  processes: count.describe('The number of living processes that have the consumer.'),
  breaker: breakerState.describe('The worst state of the breaker in these processes; `off` without one.'),
  breakers: breakerCounts,
  paused: z
    .array(pauseReason)
    .describe('The reasons why the consumer takes no events, in any of the processes.'),
  pausedProcesses: count.describe('The number of processes in which a person paused the consumer.'),
})
export type ConsumerSum = z.infer<typeof consumerSum>
