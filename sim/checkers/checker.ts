import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../src/core/event/event.ts'
import type { AuditEntry } from '../../src/ports/audit.ts'
import type { CommandRecord } from '../../src/ports/commands.ts'
import type { Replay, ReplayItem } from '../../src/ports/replays.ts'
import type { Plan } from '../draw-plan.ts'
import type { History } from '../history.ts'

/** The end of a world, as the checkers read it. */
export interface EndedWorld {
  readonly plan: Plan
  readonly history: History
  readonly sent: ReadonlyMap<string, LazaretEvent>
  /** All letters, in every store and queue. */
  readonly letters: readonly DeadLetter[]
  readonly spilled: number
  /** The number of critical events left in the journal, by machine. */
  readonly journals: { readonly [machine: string]: number }
  readonly isIdle: boolean
  /** The number of timers after everything was closed. */
  readonly timers: number
  readonly depths: { readonly [handler: string]: number }
  readonly fleet: EndedFleet | undefined
}

/** What the shared store has of the fleet. */
export interface EndedFleet {
  /** The replays that had not ended when the world was given up or idle, before its processes were closed. */
  readonly openReplays: readonly string[]
  readonly commands: readonly (CommandRecord & { readonly name: string })[]
  readonly audit: readonly AuditEntry[]
  readonly replays: readonly { readonly replay: Replay; readonly items: readonly ReplayItem[] }[]
}

export interface Violation {
  readonly checker: string
  readonly message: string
}

/** Reads an ended world and yields a message for each violation. */
export type Checker = (ended: EndedWorld) => Iterable<string>

export function wasCancelled({ history }: EndedWorld, replayId: string | undefined): boolean {
  return history.of('replayChanged').some(({ replay, state }) => replay === replayId && state === 'cancelled')
}

/** Like `Map.groupBy`, with a key of several parts. */
export function groupBy<T>(items: readonly T[], ...parts: readonly (keyof T)[]): Map<string, T[]> {
  return Map.groupBy(items, item => parts.map(part => String(item[part])).join(' '))
}
