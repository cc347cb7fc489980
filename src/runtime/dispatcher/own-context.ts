import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * Marks what a dispatcher does on its own account: writes to its sinks, letters, retries, and the observers it tells.
 * Whoever makes events of what others say, such as a logger, must leave out what is said in here, or a failure to track
 * would become an event that fails to be tracked.
 */
const own = new AsyncLocalStorage<true>()

export function inOwnContext<R>(work: () => R): R {
  return own.run(true, work)
}

export function isOwnContext(): boolean {
  return own.getStore() === true
}
