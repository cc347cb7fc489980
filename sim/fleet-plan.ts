import type { FaultKind } from './faults.ts'

/** The tasks that a person sends to processes. */
export type TaskKind = 'pause' | 'resume' | 'breaker' | 'probe' | 'validate' | 'resend'

/** A command of a person, at a fixed time. */
export interface CommandPlan {
  readonly kind: 'command'
  readonly atMs: number
  readonly task: TaskKind
  readonly part:
    | { readonly channel: string; readonly handler: string | undefined }
    | { readonly sink: string }
  readonly to: 'open' | 'closed' | 'auto'
  /** One process, the processes of a service, or those that have the part: all of them, or any one. */
  readonly whom: 'instance' | 'service' | 'all' | 'any'
}

/** A person plans and starts a replay. */
export interface ReplayPlan {
  readonly kind: 'replay'
  readonly atMs: number
  /** All letters, those of a channel, or those of a sink. */
  readonly filter: { readonly channel?: string; readonly handler?: string }
  readonly perSecond: number
  readonly stages: readonly (number | 'rest')[]
  readonly haltRefailRatio: number
  readonly haltOnSameFingerprint: boolean
  readonly allowQuarantined: boolean
}

/** A person stops or continues the newest replay that allows it, or a server ends. */
export interface ServerActionPlan {
  readonly kind: 'pause-replay' | 'resume-replay' | 'cancel-replay' | 'crash-server' | 'restart-server'
  readonly atMs: number
}

export type FleetActionPlan = CommandPlan | ReplayPlan | ServerActionPlan

/** The fleet of a world: processes with presence on the shared store, and servers apart from them. */
export interface FleetPlan {
  /** The service of each machine that has presence. */
  readonly services: { readonly [machine: string]: string }
  readonly servers: number
  /** Whether the store announces commands. Without that, processes ask every second. */
  readonly announces: boolean
  readonly actions: readonly FleetActionPlan[]
  /** The faults of calls to the shared store: of processes, and of servers. */
  readonly rates: { readonly [P in 'fleet' | 'server']: { readonly [K in FaultKind]?: number } }
}
