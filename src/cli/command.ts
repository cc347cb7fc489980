import type { Flags, Values } from './flag.ts'
import type { ExitCode, Io } from './io.ts'

/** What a command takes beside its flags. */
interface Arguments {
  readonly placeholder: string
  readonly min: number
  readonly max: number
}

/** What a command is handed when it runs. */
export interface Context<F extends Flags> {
  readonly io: Io
  readonly args: readonly string[]
  readonly flags: Values<F>
  /** All there are, for the one that tells the shell about them. */
  readonly commands: readonly Command[]
}

/**
 * One verb: what help and completion know of it. Its work is loaded when it is asked for, so that help does not wait
 * for stores and drivers.
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

/** A command among others, the types of its own flags forgotten: parsing has seen to it that they hold. */
export function command<F extends Flags>(spec: Command<F>): Command {
  return spec as unknown as Command
}

export const ONE_ID: Arguments = { placeholder: 'ID', min: 1, max: 1 }
export const SOME_IDS: Arguments = { placeholder: 'ID…', min: 1, max: Number.POSITIVE_INFINITY }
export const ANY_IDS: Arguments = { placeholder: '[ID…]', min: 0, max: Number.POSITIVE_INFINITY }
export const SOME_QUEUES: Arguments = { placeholder: 'QUEUE…', min: 1, max: Number.POSITIVE_INFINITY }
