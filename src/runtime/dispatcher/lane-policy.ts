import type { LetterCaps } from '../../core/dead-letter/caps.ts'
import type { FailureRule } from '../../core/failure/failure-rule.ts'
import type { RetryLimitPolicy } from '../../core/limit/options.ts'
import type { Random } from '../../core/random.ts'
import type { RetryPolicy } from '../../core/retry/policy.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Observer } from '../../ports/observer.ts'
import type { Sink } from '../../ports/sink.ts'
import type { Tracing } from '../../ports/tracing.ts'
import { Breaker } from '../breaker.ts'
import { type DeadlineLane, deadlinesOf } from '../deadlines.ts'
import { RetryLimiter } from '../limiters.ts'
import { made } from '../option-rules.ts'
import type { Door } from './door.ts'
import type { BatchPolicy, BufferPolicy, LaneSettings } from './lane-options.ts'

/** What the lanes of a dispatcher share. */
export interface LaneSurroundings {
  readonly door: Door
  readonly caps: LetterCaps
  readonly observer: Observer
  readonly tracing: Tracing | undefined
  readonly clock: Clock
  readonly random: Random
}

/** Everything a lane needs to know. */
export interface LanePolicy extends LaneSurroundings {
  readonly name: string
  readonly sink: Sink
  readonly retry: RetryPolicy
  readonly breaker: Breaker | undefined
  readonly whenOpen: 'dead-letter' | 'wait'
  readonly retryLimit: RetryLimitPolicy | undefined
  readonly retryLimiter: RetryLimiter | undefined
  readonly timeoutMs: number
  readonly deadlines: DeadlineLane
  readonly batch: BatchPolicy
  readonly buffer: BufferPolicy
  readonly concurrency: number
  readonly classify: readonly FailureRule[]
}

export function lanePolicy(
  name: string,
  sink: Sink,
  settings: LaneSettings,
  surroundings: LaneSurroundings,
): LanePolicy {
  const { clock, observer } = surroundings
  const { breaker, retryLimit, timeoutMs } = settings
  return {
    ...settings,
    ...surroundings,
    name,
    sink,
    breaker:
      breaker === 'off' ? undefined : made(breaker, policy => new Breaker(policy, { name, clock, observer })),
    retryLimit: retryLimit === 'off' ? undefined : retryLimit,
    retryLimiter:
      retryLimit === 'off'
        ? undefined
        : new RetryLimiter(retryLimit, { name, part: name, clock, observer, tellsBatches: true }),
    deadlines: deadlinesOf(clock).lane(timeoutMs),
  }
}
