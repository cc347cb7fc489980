import type { Observations, Observer } from '../ports/observer.ts'

/**
 * Tells an observer. Callers on a hot path look first whether the method is there, so that nothing is built for
 * nobody. An observer that throws is the observer's fault and must not become the event's.
 */
export function observe<K extends keyof Observations>(
  observer: Observer,
  what: K,
  event: Observations[K],
): void {
  try {
    ;(observer[what] as ((event: Observations[K]) => void) | undefined)?.(event)
  } catch {
    // There is nobody left to tell: the observer was the one to tell.
  }
}
