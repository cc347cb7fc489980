import { readThrown } from '../../core/failure/thrown.ts'
import type { Observer } from '../../ports/observer.ts'

/** How often an observer has failed, and how it failed last. */
interface ObserverFaults {
  readonly count: number
  readonly lastError: string | undefined
}

const NONE: ObserverFaults = Object.freeze({ count: 0, lastError: undefined })
const faults = new WeakMap<Observer, ObserverFaults>()
const members = new WeakMap<Observer, readonly Observer[]>()

/** Kept by the observer, not by whoever tells it: nothing has to be built on the way of an event for the case that it fails. */
export function noteObserverFault(observer: Observer, error: unknown): void {
  const { count } = faults.get(observer) ?? NONE
  faults.set(observer, { count: count + 1, lastError: errorText(error) })
}

/** Says that what happens to the members happens to the whole. */
export function standsForAll(whole: Observer, parts: readonly Observer[]): void {
  members.set(whole, parts)
}

export function observerFaults(observer: Observer): ObserverFaults {
  let { count, lastError } = faults.get(observer) ?? NONE
  for (const part of members.get(observer) ?? []) {
    const of = observerFaults(part)
    count += of.count
    lastError = of.lastError ?? lastError
  }
  return { count, lastError }
}

/** Bounded, and safe for whatever was thrown. */
export function errorText(error: unknown): string {
  const { name, message } = readThrown(error)
  return message === '' ? name : `${name}: ${message}`
}
