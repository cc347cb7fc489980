import { types } from 'node:util'
import { readThrown } from '../../core/failure/thrown.ts'
import type { Observer } from '../../ports/observer.ts'
import { OBSERVATION_NAMES } from '../observation-names.ts'

/** How often an observer has failed, and how it failed last. */
interface ObserverFaults {
  readonly count: number
  readonly lastError: string | undefined
}

const NONE: ObserverFaults = Object.freeze({ count: 0, lastError: undefined })
const faults = new WeakMap<Observer, ObserverFaults>()
const members = new WeakMap<Observer, readonly Observer[]>()

/**
 * Kept by the observer, not by its caller: the path of an event allocates nothing for the case that an observer fails.
 */
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

/** One for each observer: its faults are its own, however many are handed it. */
const safeOnes = new WeakMap<Observer, Observer>()

/**
 * Returns an observer whose properties can be read safely: callers read a property to see whether it is observed. A getter
 * that throws is treated like a method that throws: it is counted as the observer's fault, and nothing is observed. Only a
 * proxy or an object with getters needs this; any other observer is left as it is.
 */
export function safeObserver(observer: Observer): Observer {
  if (!mayThrowOnRead(observer)) return observer
  const known = safeOnes.get(observer)
  if (known !== undefined) return known
  const safe: Observer = new Proxy({} as Observer, {
    get: (_, what) => {
      try {
        const method: unknown = Reflect.get(observer, what)
        // A class may have private fields: its methods need the object itself.
        return typeof method === 'function' ? (event: unknown) => method.call(observer, event) : method
      } catch (error) {
        noteObserverFault(safe, error)
        return undefined
      }
    },
  })
  safeOnes.set(observer, safe)
  safeOnes.set(safe, safe)
  return safe
}

function mayThrowOnRead(observer: Observer): boolean {
  for (let each: object | null = observer; each !== null; each = Object.getPrototypeOf(each)) {
    if (types.isProxy(each)) return true
    const own = each
    if (OBSERVATION_NAMES.some(what => Object.getOwnPropertyDescriptor(own, what)?.get !== undefined))
      return true
  }
  return false
}
