import { type Rule, that } from '../core/options/rules.ts'
import type { Clock } from '../ports/clock.ts'
import type { Observer } from '../ports/observer.ts'
import { safeObserver } from './user-functions/safe-observer.ts'

/** A policy to make the live object from, or one that was made before and is shared. */
type LiveOr<L, P> = { readonly live: L } | { readonly policy: P }

export function liveOr<L, P>(
  liveClass: abstract new (...args: never[]) => L,
  rule: Rule<P>,
): Rule<LiveOr<L, P>> {
  return {
    read: (value, path, faults) =>
      value instanceof liveClass ? { live: value } : { policy: rule.read(value, path, faults) },
  }
}

export function made<L, P>(option: LiveOr<L, P>, make: (policy: P) => L): L {
  return 'live' in option ? option.live : make(option.policy)
}

/** The option may be 'off', for what applies unless it is switched off. */
export function orOff<T>(rule: Rule<T>): Rule<T | 'off'> {
  return { read: (value, path, faults) => (value === 'off' ? 'off' : rule.read(value, path, faults)) }
}

/** A port's implementation, known by the methods it must have. */
export function port<T>(noun: string, ...methods: readonly (keyof T & string)[]): Rule<T> {
  return that(
    (value): value is T => isObject(value) && methods.every(method => typeof value[method] === 'function'),
    `give ${noun} with ${methods.map(method => `${method}()`).join(', ')}`,
  )
}

export const clockRule: Rule<Clock> = port<Clock>('a clock', 'now', 'schedule')

const anyObserver: Rule<Observer> = that(
  (value): value is Observer => isObject(value),
  'give an object with methods named after what it observes',
)

/** Its properties can be read without care from here on. */
export const observerRule: Rule<Observer> = {
  read(value, path, faults) {
    const observer = anyObserver.read(value, path, faults)
    return isObject(observer) ? safeObserver(observer) : observer
  },
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

const LEAST_LATE_MS = 1_000

/** How long work that runs on after its timeout is waited for, where nobody says otherwise. */
export function defaultLateMs(timeoutMs: number): number {
  return Math.max(LEAST_LATE_MS, timeoutMs)
}
