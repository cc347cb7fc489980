import type { Observations, Observer } from '../ports/observer.ts'
import { observe } from './observe.ts'

/**
 * One observer that tells several, in the order given. What none of them watches, it does not watch either; and one of
 * them that throws keeps nothing from the others.
 */
export function combineObservers(...observers: readonly Observer[]): Observer {
  const combined: Partial<Record<keyof Observations, (event: never) => void>> = {}
  for (const what of new Set(observers.flatMap(namesOf))) {
    const watching = observers.filter(observer => observer[what] !== undefined)
    combined[what] = (event: never) => {
      for (const observer of watching) observe(observer, what, event)
    }
  }
  return combined as Observer
}

/** Those of its prototypes too: an observer may be the instance of a class. */
function namesOf(observer: Observer): (keyof Observations)[] {
  const names: string[] = []
  for (
    let at: object | null = observer;
    at !== null && at !== Object.prototype;
    at = Object.getPrototypeOf(at)
  )
    names.push(...Object.getOwnPropertyNames(at))
  return names.filter(
    name => name !== 'constructor' && typeof observer[name as keyof Observations] === 'function',
  ) as (keyof Observations)[]
}
