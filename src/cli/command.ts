import type { Flags, Values } from './flag.ts'
import type { ExitCode, Io } from './io.ts'

/** The positional arguments of a command. */
interface Arguments {
  readonly placeholder: string
  readonly min: number
  readonly max: number
}

/** The input of a running command. */
export interface Context<F extends Flags> {
  readonly io: Io
  readonly args: readonly string[]
  readonly flags: Values<F>
  /** All commands, for the completion script. */
  readonly commands: readonly Command[]
}

/**
 * Declares one command for help, completion and parsing. `load` imports its code on demand, so that help does not load
 * stores and drivers.
 */
export interface Command<F extends Flags = Flags> {
  /** As it is typed: `dlq list`. */
  readonly name: string
  readonly about: string
  readonly arguments?: Arguments | undefined
  readonly flags: F
  readonly examples: readonly string[]
  load(): Promise<(context: Context<F>) => Promise<ExitCode>>
}

/** Drops the flag types of a command, so that all commands fit into one list. The parser guarantees the types. */
export function command<F extends Flags>(spec: Command<F>): Command {
  return spec as unknown as Command
}

export const ONE_ID: Arguments = { placeholder: 'ID', min: 1, max: 1 }
export const TWO_IDS: Arguments = { placeholder: 'ID ID', min: 2, max: 2 }
export const SOME_IDS: Arguments = { placeholder: 'ID…', min: 1, max: Number.POSITIVE_INFINITY }
export const ANY_IDS: Arguments = { placeholder: '[ID…]', min: 0, max: Number.POSITIVE_INFINITY }
export const SOME_QUEUES: Arguments = { placeholder: 'QUEUE…', min: 1, max: Number.POSITIVE_INFINITY }
export const SOME_CHANNELS: Arguments = { placeholder: 'CHANNEL…', min: 1, max: Number.POSITIVE_INFINITY }
export const ANY_CHANNELS: Arguments = { placeholder: '[CHANNEL…]', min: 0, max: Number.POSITIVE_INFINITY }
