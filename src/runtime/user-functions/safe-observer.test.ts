import { describe, expect, it } from 'vitest'
import type { Observer } from '../../ports/observer.ts'
import { Recorder } from '../../testing/recorder.ts'
import { combineObservers, observe } from '../observe.ts'
import { observerFaults, safeObserver } from './observer-faults.ts'

const EXPIRED = { store: 'memory:', count: 1, byState: {} } as const

function broken(): never {
  throw new Error('not connected yet')
}

describe('safe observer', () => {
  it('B16: an observer without getters is left as it is', () => {
    class Mine {
      readonly name = 'mine'
      get size(): number {
        return broken()
      }
      lettersExpired(): void {}
    }
    for (const observer of [{}, { lettersExpired() {} }, Object.create(null), new Mine()] as Observer[])
      expect(safeObserver(observer)).toBe(observer)
  })

  it('B16: a getter that throws counts as a fault, and observes nothing', () => {
    const proxy = new Proxy({} as Observer, { get: broken })
    const own = Object.defineProperty({} as Observer, 'lettersExpired', { get: broken })
    const inherited: Observer = Object.create(own)
    for (const observer of [proxy, own, inherited]) {
      const safe = safeObserver(observer)
      expect(safe.lettersExpired).toBeUndefined()
      expect(observerFaults(safe)).toEqual({ count: 1, lastError: 'Error: not connected yet' })
      expect(safeObserver(observer)).toBe(safe)
      expect(safeObserver(safe)).toBe(safe)
    }
  })

  it('B16: the other methods of a class with such a getter work on their own object', () => {
    class Mine {
      readonly #seen: unknown[] = []
      get attemptFailed(): never {
        return broken()
      }
      get lettersExpired(): (event: unknown) => void {
        return event => this.#seen.push(event)
      }
      batchWritten(event: unknown): void {
        this.#seen.push(event)
      }
      get seen(): readonly unknown[] {
        return this.#seen
      }
    }
    const mine = new Mine()
    const safe = safeObserver(mine)
    observe(safe, 'lettersExpired', EXPIRED)
    safe.batchWritten?.('written' as never)
    expect(mine.seen).toEqual([EXPIRED, 'written'])
    expect(observerFaults(safe).count).toBe(0)
  })

  it('B16: what a proxy answers, and what is added to its object later, is observed', () => {
    const recorder = new Recorder()
    observe(safeObserver(recorder.observer), 'lettersExpired', EXPIRED)
    expect(recorder.of('lettersExpired')).toEqual([EXPIRED])
    const target: { lettersExpired?: (event: unknown) => void } = {}
    const safe = safeObserver(new Proxy(target, {}) as Observer)
    expect(safe.lettersExpired).toBeUndefined()
    const seen: unknown[] = []
    target.lettersExpired = event => seen.push(event)
    observe(safe, 'lettersExpired', EXPIRED)
    expect(seen).toEqual([EXPIRED])
  })

  it('B16: combined with others it keeps nothing from them, and its faults count', () => {
    const recorder = new Recorder()
    const combined = combineObservers(new Proxy({} as Observer, { get: broken }), recorder.observer)
    observe(combined, 'lettersExpired', EXPIRED)
    expect(recorder.of('lettersExpired')).toEqual([EXPIRED])
    expect(observerFaults(combined).count).toBeGreaterThan(0)
  })
})
