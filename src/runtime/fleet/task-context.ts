/** Why a process does not execute a command, or the rest of it. */
export const IS_LEAVING = 'this process is leaving the fleet'

/** The circumstances under which a process executes a command. */
export interface TaskContext {
  /** The person who sent the command, or the runner of a replay. */
  readonly by: string
  /** When this process asked for commands, before the store gave the command out: by the clock that never steps. */
  readonly askedAt: number
  /** Aborts when the process leaves the fleet. The task then begins nothing more, and answers with what it has done. */
  readonly signal: AbortSignal
}
