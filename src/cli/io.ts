import type { Config } from '../config/config.ts'
import type { Random } from '../core/random.ts'
import type { Clock } from '../ports/clock.ts'
import type { Store } from '../ports/store.ts'

/** Where text goes. `write` resolves when more can be taken, so a slow reader slows the writer down. */
export interface Out {
  write(text: string): Promise<void>
  readonly isTerminal: boolean
  /** Of the terminal, in characters; undefined where there is none to fit into. */
  readonly columns: number | undefined
}

export interface OpenOptions {
  /** What a relative path is relative to. */
  readonly folder: string
  readonly config: Config
  /** Whether a store that is not there is made. A mistyped path must not become an empty store. */
  readonly creates: 'never' | 'if-missing'
  readonly clock: Clock
}

/** Everything a command touches of the world, so that a test can run one without a process. */
export interface Io {
  readonly stdout: Out
  readonly stderr: Out
  readonly stdin: { readonly isTerminal: boolean; readonly bytes: AsyncIterable<Uint8Array> }
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly user: string
  readonly clock: Clock
  readonly random: Random
  /** Aborted by Ctrl-C: running work comes to a clean end. */
  readonly interrupted: AbortSignal
  /** The line a person types in answer; undefined when there is none to come. */
  ask(question: string): Promise<string | undefined>
  openStore(url: string, options: OpenOptions): Promise<Store>
}

/** Done, failed, wrong usage, done in part. */
export type ExitCode = 0 | 1 | 2 | 3

/** The reader of our output has exited, as `head` does: nobody reads more output, and that is not an error. */
export class OutputClosedError extends Error {
  override readonly name = 'OutputClosedError'
}

/** The command line is wrong; the message says what to type instead. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The request is correct but cannot be done; the message says what would help. */
export class FailedError extends Error {
  override readonly name = 'FailedError'
}

/** Waits for Ctrl-C. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
