import type { BreakerMode } from '../../core/breaker/state.ts'
import type { AttemptContext } from '../attempt/attempt.ts'
import type { Breaker } from '../breaker.ts'
import type { UserFunctionHealth } from '../user-functions/user-faults.ts'
import { Call } from './call.ts'
import { CurrentPolicy, type ResilientOptions } from './resilient-options.ts'

/** Options of one call by `run()`. */
export interface RunOptions {
  /** Aborts the waits and the attempt [none]. The call then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
}

/** The protected function. It is called like the original one. */
export interface Resilient<A extends unknown[], R> {
  (...args: A): Promise<R>
  /** Calls the function with options, such as a signal that aborts the call. */
  run(options: RunOptions, ...args: A): Promise<R>
  readonly breaker: Breaker | undefined
  health(): ResilientHealth
}

/** The health of a function that `resilient()` protects. */
export interface ResilientHealth {
  readonly breakerState: BreakerMode | 'off'
  /** How often a function among the options failed, and its fallback was used. */
  readonly userFunctions: UserFunctionHealth
}

/**
 * Protects any async function with policies. A policy applies only if its option is set. A call that is given up on rejects
 * with the error of its last attempt, unchanged; the observation `gaveUp` names the policy that ended it. A call without an
 * attempt rejects with a BreakerOpenError or a RateLimitedError.
 *
 * With `passContext`, the function gets an AttemptContext after its own arguments. Its `signal` aborts when the timeout of
 * the attempt is over.
 */
export function resilient<A extends unknown[], R>(
  fn: (...args: [...A, AttemptContext]) => R | PromiseLike<R>,
  options: ResilientOptions & { readonly passContext: true },
): Resilient<A, R>
export function resilient<A extends unknown[], R>(
  fn: (...args: A) => R | PromiseLike<R>,
  options?: ResilientOptions,
): Resilient<A, R>
export function resilient<A extends unknown[], R>(
  fn: (...args: A) => R | PromiseLike<R>,
  options: ResilientOptions = {},
): Resilient<A, R> {
  const policy = new CurrentPolicy(options, fn.name)
  const start = (args: A, signal: AbortSignal | undefined): Promise<R> =>
    new Promise((resolve, reject) => new Call(policy.current, fn, args, signal, resolve, reject).start())
  const call = (...args: A): Promise<R> => start(args, undefined)
  return Object.assign(call, {
    run: ({ signal }: RunOptions, ...args: A) => start(args, signal),
    breaker: policy.current.breaker,
    health: () => ({
      breakerState: policy.current.breaker?.state.mode ?? ('off' as const),
      userFunctions: policy.current.faults.health(),
    }),
  })
}
