import type { CommandTask } from '../src/ports/commands.ts'
import type { ItemStatus, ReplayState } from '../src/ports/replays.ts'

/** The facts of a fleet. `by` is a process such as `m1.2` or `s1.1`, and of a command or a plan the person. */
export type FleetFact =
  | { readonly what: 'presence'; readonly by: string; readonly leaseMs: number }
  | {
      readonly what: 'commandSent'
      readonly command: string
      readonly task: string
      readonly to: readonly string[]
      readonly by: string
    }
  | {
      readonly what: 'commandClaimed'
      readonly command: string
      readonly by: string
      readonly task: CommandTask
    }
  /** `took`: the store took the outcome. */
  | {
      readonly what: 'commandEnded'
      readonly command: string
      readonly by: string
      readonly took: boolean
      readonly ok: boolean
      readonly result?: unknown
      readonly error?: string
    }
  /** A part of a process got a call of a command. `consumer` is a consumer or a sink, such as `m1.2/orders`. */
  | {
      readonly what: 'executed'
      readonly consumer: string
      readonly handler: string
      readonly task: 'pause' | 'resume' | 'breaker'
    }
  /** A process has left the fleet. */
  | { readonly what: 'left'; readonly by: string; readonly tookMs: number }
  | {
      readonly what: 'replayPlanned'
      readonly replay: string
      readonly by: string
      readonly letters: readonly string[]
    }
  | {
      readonly what: 'replayChanged'
      readonly replay: string
      readonly state: ReplayState
      readonly stage: number
      readonly by: string
    }
  /** The store has recorded an item of a replay. `holder`: the process that has its event. */
  | {
      readonly what: 'item'
      readonly replay: string
      readonly position: number
      readonly event: string
      readonly handler: string
      readonly by: string
      readonly status: ItemStatus
      readonly handedOn: 'durable' | 'in-process' | undefined
      readonly delivery: string | undefined
      readonly holder: string | undefined
    }
  /** A person made a letter dead again that would have stayed `replaying`. */
  | {
      readonly what: 'reopened'
      readonly event: string
      readonly handler: string
      readonly replayId: string | undefined
    }
