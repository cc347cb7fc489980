import type { BreakerMode } from '../../core/breaker/state.ts'
import type { AttemptContext } from '../attempt/attempt.ts'
import type { Breaker } from '../breaker.ts'
import type { UserFunctionHealth } from '../user-functions/user-faults.ts'
import { Call } from './call.ts'
import { type ResilientOptions, resolveResilient } from './resilient-options.ts'

/** Options of one call by `run()`. */
export interface RunOptions {
  /** Aborts the waits and the attempt [none]. The call then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
}

/** The protected function: called like the one it protects. */
export interface Resilient<A extends unknown[], R> {
  (...args: A): Promise<R>
  /** The same call, with a way to abort it. */
  run(options: RunOptions, ...args: A): Promise<R>
  readonly breaker: Breaker | undefined
  health(): ResilientHealth
}

/** The health of a function that `resilient()` protects. */
export interface ResilientHealth {
  readonly breakerState: BreakerMode | 'off'
  /** The functions among the options: how often their fallback was taken. */
  readonly userFunctions: UserFunctionHealth
}

/**
 * Puts policies round any async function. Only what is named is applied. A call that is given up on rejects with the
 * error of its last attempt, untouched; the observer's `gaveUp` says which policy ended it. A call that never got an
 * attempt rejects with a BreakerOpenError or a RateLimitedError.
 *
 * With `passContext`, the function gets an AttemptContext behind its own arguments: its `signal` aborts when the
 * attempt's time is over.
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
  const policy = resolveResilient(options, fn.name)
  const start = (args: A, signal: AbortSignal | undefined): Promise<R> =>
    new Promise((resolve, reject) => new Call(policy, fn, args, signal, resolve, reject).start())
  const call = (...args: A): Promise<R> => start(args, undefined)
  return Object.assign(call, {
    run: ({ signal }: RunOptions, ...args: A) => start(args, signal),
    breaker: policy.breaker,
    health: () => ({
      breakerState: policy.breaker?.state.mode ?? ('off' as const),
      userFunctions: policy.faults.health(),
    }),
  })
}
