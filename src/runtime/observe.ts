import type { Observations, Observer } from '../ports/observer.ts'
import { isPromiseLike } from './attempt/attempt.ts'
import { noteObserverFault } from './user-functions/observer-faults.ts'

/**
 * Tells an observer. Callers on a hot path look first whether the method is there, so that nothing is built for
 * nobody. An observer that throws or rejects is the observer's fault and must not become the event's: it is counted, and
 * `health()` shows it.
 */
export function observe<K extends keyof Observations>(
  observer: Observer,
  what: K,
  event: Observations[K],
): void {
  try {
    const answer = (observer[what] as ((event: Observations[K]) => unknown) | undefined)?.(event)
    // An async method: nobody waits for it, but its rejection must not end the process.
    if (answer !== undefined && isPromiseLike(answer))
      answer.then(undefined, (error: unknown) => noteObserverFault(observer, error))
  } catch (error) {
    noteObserverFault(observer, error)
  }
}
