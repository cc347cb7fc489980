import { catchRejection } from '../core/promise-like.ts'
import type { Observations, Observer } from '../ports/observer.ts'
import { OBSERVATION_NAMES } from './observation-names.ts'
import { noteObserverFault, safeObserver, standsForAll } from './user-functions/observer-faults.ts'

/**
 * Calls a method of an observer. Callers on a hot path check first that the method exists, so that they build no object
 * without an observer. An observer that throws or rejects must not affect the event: the error is counted, and
 * `health()` shows it.
 */
export function observe<K extends keyof Observations>(
  observer: Observer,
  what: K,
  event: Observations[K],
): void {
  try {
    const answer = (observer[what] as ((event: Observations[K]) => unknown) | undefined)?.(event)
    // The result of an async method is not awaited, but its rejection must not end the process.
    if (answer !== undefined) catchRejection(answer, error => noteObserverFault(observer, error))
  } catch (error) {
    noteObserverFault(observer, error)
  }
}

/**
 * Combines several observers into one that calls them in the given order. It has only the methods that one of them has. An
 * observer that throws does not affect the others.
 */
export function combineObservers(...observers: readonly Observer[]): Observer {
  const parts = observers.map(safeObserver)
  const combined: Partial<Record<keyof Observations, (event: never) => void>> = {}
  for (const what of OBSERVATION_NAMES) {
    const watching = parts.filter(observer => typeof observer[what] === 'function')
    if (watching.length === 0) continue
    combined[what] = (event: never) => {
      for (const observer of watching) observe(observer, what, event)
    }
  }
  standsForAll(combined as Observer, parts)
  return combined as Observer
}
