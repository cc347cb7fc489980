import { types } from 'node:util'
import type { Observer } from '../../ports/observer.ts'
import { OBSERVATION_NAMES } from '../observation-names.ts'
import { noteObserverFault } from './observer-faults.ts'

/** One for each observer: its faults are its own, however many are handed it. */
const safeOnes = new WeakMap<Observer, Observer>()

/**
 * An observer whose properties can be read without care, as everybody does who looks whether somebody observes. A getter
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
