import type { Observations, Observer } from '../ports/observer.ts'
import { OBSERVATION_NAMES } from './observation-names.ts'
import { observe } from './observe.ts'
import { standsForAll } from './user-functions/observer-faults.ts'
import { safeObserver } from './user-functions/safe-observer.ts'

/**
 * One observer that tells several, in the order given. What none of them watches, it does not watch either; and one of
 * them that throws keeps nothing from the others.
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
