import type { LetterCaps } from '../../../core/dead-letter/caps.ts'
import type { RetryLimitPolicy } from '../../../core/limit/options.ts'
import type { Random } from '../../../core/random.ts'
import { RETRY_PRESETS } from '../../../core/retry/presets.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Observer } from '../../../ports/observer.ts'
import type { Sink } from '../../../ports/sink.ts'
import type { Tracing } from '../../../ports/tracing.ts'
import type { AttemptPolicy } from '../../attempt/after-failure.ts'
import { type DeadlineLane, deadlinesOf } from '../../attempt/deadlines.ts'
import { Breaker } from '../../breaker.ts'
import { RetryBudget, RetryLimiter } from '../../limiters.ts'
import { defaultLateMs, made } from '../../option-rules.ts'
import { guardRandom, guardRetry, guardRules } from '../../user-functions/guards.ts'
import { UserFaults } from '../../user-functions/user-faults.ts'
import type { Door } from '../track/entry-limit.ts'
import { observeAsOwn } from '../track/own-context.ts'
import type { BatchPolicy, BufferPolicy, LaneSettings } from './lane-options.ts'

/** What the lanes of a dispatcher share. */
interface LaneSurroundings {
  readonly door: Door
  readonly caps: LetterCaps
  readonly observer: Observer
  readonly tracing: Tracing | undefined
  readonly clock: Clock
  readonly random: Random
}

/** Everything a lane needs to know. */
export interface LanePolicy extends LaneSurroundings, AttemptPolicy {
  readonly caps: LetterCaps
  readonly sink: Sink
  readonly whenOpen: 'dead-letter' | 'wait'
  readonly retryLimit: RetryLimitPolicy | undefined
  readonly retryLimiter: RetryLimiter | undefined
  readonly timeoutMs: number
  readonly lateMs: number
  readonly deadlines: DeadlineLane
  readonly batch: BatchPolicy
  readonly buffer: BufferPolicy
  readonly concurrency: number
  readonly faults: UserFaults
}

export function lanePolicy(
  name: string,
  sink: Sink,
  settings: LaneSettings,
  surroundings: LaneSurroundings,
): LanePolicy {
  const { clock, observer, random } = surroundings
  const faults = new UserFaults({ name, clock, observer }, observeAsOwn)
  const { breaker, retryLimit, timeoutMs, budget } = settings
  return {
    ...settings,
    ...surroundings,
    name,
    sink,
    faults,
    // What a sink refuses is in no broker that would hand it over again.
    poison: 'off',
    budget: budget && made(budget, policy => new RetryBudget(policy)),
    retry: guardRetry(settings.retry, RETRY_PRESETS.producer.backoff, faults),
    classify: guardRules(settings.classify, faults),
    random: guardRandom(random, faults),
    breaker:
      breaker === 'off' ? undefined : made(breaker, policy => new Breaker(policy, { name, clock, observer })),
    retryLimit: retryLimit === 'off' ? undefined : retryLimit,
    retryLimiter:
      retryLimit === 'off'
        ? undefined
        : new RetryLimiter(retryLimit, { name, part: name, clock, observer, tellsBatches: true }),
    lateMs: settings.lateMs ?? defaultLateMs(timeoutMs),
    deadlines: deadlinesOf(clock).lane(timeoutMs),
  }
}
