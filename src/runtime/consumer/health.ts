import type { BreakerMode } from '../../core/breaker/state.ts'
import {
  addToNewestSlice,
  addToWindow,
  emptyWindow,
  followClock,
  isInNewestSlice,
  type Window,
  windowTotal,
} from '../../core/limit/window.ts'
import type { ChannelLimits } from '../../core/watch/options.ts'
import type { PauseReason, ProcessedOutcome } from '../../ports/observer.ts'
import { breakerGauge } from '../breaker.ts'
import { observe } from '../observe.ts'
import type { SpillHealth } from '../spill-drainer.ts'
import type { UserFunctionHealth } from '../user-functions/user-faults.ts'
import type { ConsumerPolicy } from './consumer-options.ts'
import type { Stall } from './pauses.ts'

/** The time window of the failure rate. */
const RATE_WINDOW_MS = 60_000
/** The number of dead letters from which health is DEGRADED. */
export const DEFAULT_DEGRADED_AT = 100

/** The health of a consumer. */
export interface ConsumerHealth {
  readonly channel: string
  readonly handler: string
  readonly breakerState: BreakerMode | 'off'
  readonly lastProcessedAt: number | undefined
  /** Events that ended in the last minute. */
  readonly perMinute: number
  /** The share of deliveries of the last minute that failed: retried or dead. */
  readonly failureRate: number
  /** Attempts in flight, and open deliveries that wait. */
  readonly active: number
  readonly waiting: number
  /** The part of `waiting` that waits for a retry. Deliveries that wait in the broker do not count. */
  readonly retrying: number
  /** Handler runs that continue after their timeout, or after their consumer in this process has closed. */
  readonly late: number
  readonly paused: readonly PauseReason[]
  /** How often a function among the options failed and its fallback was used. */
  readonly userFunctions: UserFunctionHealth
  /** The number of failed settlements since the start. The broker delivers their events again. */
  readonly settlementFailures: number
  /** The alert limits that the consumer sets for its channel. Absent if it sets none. */
  readonly watch?: ChannelLimits
  /** The parts of the subscription that stall now. Absent if there are none. */
  readonly stalls?: readonly Stall[]
  /** The letters in the spill of the consumer. Absent if the spill is empty. */
  readonly spill?: SpillHealth
}

/** Counts the last minute. It adds up the newest slice by itself, because a new window for each event costs more than its settlement. */
class RecentCount {
  #window: Window = emptyWindow(RATE_WINDOW_MS)
  #newest = 0

  add(now: number): void {
    if (isInNewestSlice(this.#window, now)) this.#newest++
    else this.#window = addToWindow(this.#counted(), now, 1)
  }

  total(now: number): number {
    this.#window = followClock(this.#counted(), now)
    return windowTotal(this.#window, now)
  }

  #counted(): Window {
    const newest = this.#newest
    this.#newest = 0
    return newest === 0 ? this.#window : addToNewestSlice(this.#window, newest)
  }
}

/** Keeps what a look at a consumer shows. */
export class ConsumerActivity {
  readonly #policy: ConsumerPolicy
  #lastProcessedAt: number | undefined
  readonly #ended = new RecentCount()
  readonly #failed = new RecentCount()
  #settlementFailures = 0

  constructor(policy: ConsumerPolicy) {
    this.#policy = policy
  }

  processed(outcome: ProcessedOutcome, now: number): void {
    if (outcome === 'released') return
    this.#lastProcessedAt = now
    this.#ended.add(now)
    if (outcome === 'retried' || outcome === 'dead') this.#failed.add(now)
  }

  settlementFailed(error: unknown): void {
    const { channel, name, observer } = this.#policy
    this.#settlementFailures++
    observe(observer, 'settlementFailed', { channel, name, error })
  }

  report(
    counts: Pick<ConsumerHealth, 'active' | 'waiting' | 'retrying' | 'late' | 'paused'>,
  ): ConsumerHealth {
    const { channel, name: handler, breaker, clock, faults, watch } = this.#policy
    const now = clock.now()
    const ended = this.#ended.total(now)
    return {
      channel,
      handler,
      breakerState: breaker?.state.mode ?? 'off',
      lastProcessedAt: this.#lastProcessedAt,
      perMinute: ended,
      failureRate: ended === 0 ? 0 : this.#failed.total(now) / ended,
      ...counts,
      userFunctions: faults.health(),
      settlementFailures: this.#settlementFailures,
      ...(watch !== undefined && { watch }),
    }
  }
}

/** The health of a consumer as an HTTP health check reports it. */
export interface HealthReport {
  readonly status: 'UP' | 'DEGRADED' | 'DOWN'
  readonly breakerState: 'CLOSED' | 'HALF_OPEN' | 'OPEN'
  readonly dlqSize: number
  readonly lastProcessedAt: string | null
  readonly failureRate: number
  readonly channels: readonly ConsumerHealth[]
}

/**
 * What `/healthz/consumer` answers: DOWN while a breaker is open, DEGRADED with too many dead letters, while a broker holds a
 * consumer up or while letters wait in a spill, else UP.
 */
export function healthReport(
  channels: readonly ConsumerHealth[],
  dlqSize: number,
  degradedAt: number = DEFAULT_DEGRADED_AT,
): HealthReport {
  return { ...summarizeHealth(channels, dlqSize, degradedAt), channels }
}

/** The health report without its channels, for consumers of which only this is known. */
export function summarizeHealth(
  channels: readonly Pick<
    ConsumerHealth,
    'breakerState' | 'failureRate' | 'lastProcessedAt' | 'stalls' | 'spill'
  >[],
  dlqSize: number,
  degradedAt: number,
): Omit<HealthReport, 'channels'> {
  const worst = Math.max(0, ...channels.map(({ breakerState }) => breakerGauge(breakerState)))
  const isStalled = channels.some(({ stalls = [] }) => stalls.length > 0)
  const isSpilled = channels.some(({ spill }) => spill !== undefined)
  const last = channels.map(({ lastProcessedAt }) => lastProcessedAt ?? Number.NEGATIVE_INFINITY)
  const lastProcessedAt = Math.max(...last)
  return {
    status: worst === 2 ? 'DOWN' : dlqSize > degradedAt || isStalled || isSpilled ? 'DEGRADED' : 'UP',
    breakerState: worst === 2 ? 'OPEN' : worst === 1 ? 'HALF_OPEN' : 'CLOSED',
    dlqSize,
    lastProcessedAt: Number.isFinite(lastProcessedAt) ? new Date(lastProcessedAt).toISOString() : null,
    failureRate: Math.max(0, ...channels.map(({ failureRate }) => failureRate)),
  }
}
