import type { Config } from '../config/config.ts'
import type { Random } from '../core/random.ts'
import type { Clock } from '../ports/clock.ts'
import type { Store } from '../ports/store.ts'

/** An output stream. `write` resolves when the system has taken the text, so a slow reader slows the command down. */
export interface Out {
  write(text: string): Promise<void>
  readonly isTerminal: boolean
  /** The width of the terminal in characters; undefined without a terminal. */
  readonly columns: number | undefined
}

export interface OpenOptions {
  /** The base of relative paths. */
  readonly folder: string
  readonly config: Config
  /** Whether to create a missing store. A mistyped path must not become an empty store. */
  readonly creates: 'never' | 'if-missing'
  readonly clock: Clock
}

/** All effects of a command, so that a test can run it without a process. */
export interface Io {
  readonly stdout: Out
  readonly stderr: Out
  readonly stdin: { readonly isTerminal: boolean; readonly bytes: AsyncIterable<Uint8Array> }
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly user: string
  readonly clock: Clock
  readonly random: Random
  /** Aborted by Ctrl-C, so that running work can end cleanly. */
  readonly interrupted: AbortSignal
  /** Calls back when the process gets SIGHUP, until the returned function is called. */
  onHangup(hungUp: () => void): () => void
  /** Asks a question and returns the typed line; undefined when the input has ended. */
  ask(question: string): Promise<string | undefined>
  openStore(url: string, options: OpenOptions): Promise<Store>
}

/** Done, failed, wrong usage, done in part. */
export type ExitCode = 0 | 1 | 2 | 3

/** The reader closed the pipe, as `head` does. The command ends, and this is not a failure. */
export class OutputClosedError extends Error {
  override readonly name = 'OutputClosedError'
}

/** The command line is wrong; the message says what to type instead. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The command is right but cannot be carried out; the message says what to do. */
export class FailedError extends Error {
  override readonly name = 'FailedError'
}

/** Waits for Ctrl-C. */
export function untilInterrupted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
