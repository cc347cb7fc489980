import type { BreakerMode } from '../../core/breaker/state.ts'
import { addToWindow, emptyWindow, type Window, windowTotal } from '../../core/limit/window.ts'
import type { PauseReason, ProcessedOutcome } from '../../ports/observer.ts'
import type { ConsumerPolicy } from './consumer-options.ts'

/** The failure rate is told over this long. */
const RATE_WINDOW_MS = 60_000
/** From so many dead letters on, health is degraded. */
export const DEFAULT_DEGRADED_AT = 100

export interface ConsumerHealth {
  readonly channel: string
  readonly handler: string
  readonly breakerState: BreakerMode | 'off'
  readonly lastProcessedAt: number | undefined
  /** Of what ended in the last minute, the share that did not end well: retried or dead. */
  readonly failureRate: number
  /** Attempts in flight, and deliveries in hand that wait. */
  readonly active: number
  readonly waiting: number
  /** Of those that wait, the retries between two attempts. What waits in the broker is not in hand. */
  readonly retrying: number
  readonly paused: readonly PauseReason[]
}

/** Keeps what a look at a consumer shows. */
export class Pulse {
  readonly #policy: ConsumerPolicy
  #lastProcessedAt: number | undefined
  #ended: Window = emptyWindow(RATE_WINDOW_MS)
  #failed: Window = emptyWindow(RATE_WINDOW_MS)

  constructor(policy: ConsumerPolicy) {
    this.#policy = policy
  }

  beat(outcome: ProcessedOutcome, now: number): void {
    if (outcome === 'released') return
    this.#lastProcessedAt = now
    this.#ended = addToWindow(this.#ended, now, 1)
    if (outcome === 'retried' || outcome === 'dead') this.#failed = addToWindow(this.#failed, now, 1)
  }

  report(active: number, waiting: number, retrying: number, paused: readonly PauseReason[]): ConsumerHealth {
    const { channel, name: handler, breaker, clock } = this.#policy
    const now = clock.now()
    const ended = windowTotal(this.#ended, now)
    return {
      channel,
      handler,
      breakerState: breaker?.state.mode ?? 'off',
      lastProcessedAt: this.#lastProcessedAt,
      failureRate: ended === 0 ? 0 : windowTotal(this.#failed, now) / ended,
      active,
      waiting,
      retrying,
      paused,
    }
  }
}

export interface HealthReport {
  readonly status: 'UP' | 'DEGRADED' | 'DOWN'
  readonly breakerState: 'CLOSED' | 'HALF_OPEN' | 'OPEN'
  readonly dlqSize: number
  readonly lastProcessedAt: string | null
  readonly failureRate: number
  readonly channels: readonly ConsumerHealth[]
}

/** What `/healthz/consumer` answers: DOWN while a breaker is open, DEGRADED with too many dead letters, else UP. */
export function healthReport(
  channels: readonly ConsumerHealth[],
  dlqSize: number,
  degradedAt: number = DEFAULT_DEGRADED_AT,
): HealthReport {
  const worst = Math.max(0, ...channels.map(({ breakerState }) => gauge(breakerState)))
  const last = channels.map(({ lastProcessedAt }) => lastProcessedAt ?? Number.NEGATIVE_INFINITY)
  const lastProcessedAt = Math.max(...last)
  return {
    status: worst === 2 ? 'DOWN' : dlqSize > degradedAt ? 'DEGRADED' : 'UP',
    breakerState: worst === 2 ? 'OPEN' : worst === 1 ? 'HALF_OPEN' : 'CLOSED',
    dlqSize,
    lastProcessedAt: Number.isFinite(lastProcessedAt) ? new Date(lastProcessedAt).toISOString() : null,
    failureRate: Math.max(0, ...channels.map(({ failureRate }) => failureRate)),
    channels,
  }
}

function gauge(mode: BreakerMode | 'off'): 0 | 1 | 2 {
  if (mode === 'open' || mode === 'forced-open') return 2
  return mode === 'half-open' ? 1 : 0
}
