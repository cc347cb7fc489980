import { OptionsError } from '../core/options/faults.ts'
import type { DeadLetterQueue, Spill } from '../ports/dead-letters.ts'
import { isSame } from './share.ts'

interface SpillUse {
  readonly store: DeadLetterQueue
  users: number
}

/** The spills in use. */
const uses = new WeakMap<Spill, SpillUse>()

/**
 * Reserves the spill for the letters of one store until the returned function is called. A spill does not know which store a
 * letter belongs to. With two stores, each of them would get letters of the other one.
 */
export function reserveSpill(spill: Spill, store: DeadLetterQueue): () => void {
  const use = uses.get(spill) ?? { store, users: 0 }
  if (!isSame(use.store, store)) throw sharedSpillError()
  use.users++
  uses.set(spill, use)
  let isReserved = true
  return () => {
    if (isReserved && --use.users === 0) uses.delete(spill)
    isReserved = false
  }
}

function sharedSpillError(): OptionsError {
  return new OptionsError('consumer or dispatcher', [
    {
      path: 'spill',
      received: 'a spill that another consumer or dispatcher uses with another deadLetters',
      remedy:
        'give each store its own spill. If the store is the same, give the same deadLetters object to all of them',
    },
  ])
}
