import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../src/core/event/event.ts'
import type { Plan } from '../draw-plan.ts'
import type { History } from '../history.ts'

/** How a world ended, for the checkers. */
export interface EndedWorld {
  readonly plan: Plan
  readonly history: History
  readonly sent: ReadonlyMap<string, LazaretEvent>
  /** All letters there are, wherever they are kept. */
  readonly letters: readonly DeadLetter[]
  readonly spilled: number
  /** Critical events that were left in the journal, by machine. */
  readonly journals: { readonly [machine: string]: number }
  readonly isIdle: boolean
  /** What was still scheduled when everything was closed. */
  readonly timers: number
  readonly depths: { readonly [handler: string]: number }
}

export interface Violation {
  readonly checker: string
  readonly message: string
}

/** Looks at a world that has ended and tells what must not have happened in it. */
export type Checker = (ended: EndedWorld) => Iterable<string>

/** Groups as `Map.groupBy` does, with a key of several parts. */
export function groupBy<T>(items: readonly T[], ...parts: readonly (keyof T)[]): Map<string, T[]> {
  return Map.groupBy(items, item => parts.map(part => String(item[part])).join(' '))
}
