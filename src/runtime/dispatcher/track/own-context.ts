import { AsyncLocalStorage } from 'node:async_hooks'
import type { Observations, Observer } from '../../../ports/observer.ts'
import { observe } from '../../observe.ts'

/**
 * Marks what a dispatcher does on its own account: writes to its sinks, letters, retries, and the observers it tells.
 * Code that turns output into events, such as a logger, must leave out output from this context, or a failure to track
 * would become an event that fails to be tracked.
 */
const own = new AsyncLocalStorage<true>()

export function inOwnContext<R>(work: () => R): R {
  return isOwnContext() ? work() : own.run(true, work)
}

export function isOwnContext(): boolean {
  return own.getStore() === true
}

/** Tells an observer of what befell an event while its caller was still there, whose context is not the dispatcher's. */
export function observeAsOwn<K extends keyof Observations>(
  observer: Observer,
  what: K,
  event: Observations[K],
): void {
  if (isOwnContext()) observe(observer, what, event)
  else own.run(true, () => observe(observer, what, event))
}

/** The observer of a part that reports one thing, possibly in the async context of the code that tracks. */
export function toldAsOwn(observer: Observer, what: keyof Observations): Observer {
  if (observer[what] === undefined) return {}
  return { [what]: (event: never) => observeAsOwn(observer, what, event) }
}
