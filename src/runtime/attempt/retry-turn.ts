import type { Observer } from '../../ports/observer.ts'
import type { LimitedTurn } from '../fleet/fleet-turns.ts'
import { observe } from '../observe.ts'

interface Limited {
  readonly name: string
  readonly observer: Observer
}

/** The retry limit has no turn for it now; it waits for one, or is given up on. */
export function tellLimited({ name, observer }: Limited, turn: LimitedTurn['action'] | 'delay'): void {
  const action = turn === 'wait' ? 'delay' : turn
  if (observer.retryLimited) observe(observer, 'retryLimited', { name, action })
}

/** Its turn has come, at once or after a wait. */
export function tellAllowed({ name, observer }: Limited): void {
  if (observer.retryAllowed) observe(observer, 'retryAllowed', { name })
}
