import type { LogFields, Logger, LogLevel } from '../../ports/logger.ts'

/** One line of a log. `what` is its name, which stays as it is; the message is for people. */
export interface LogLine {
  readonly what: string
  readonly level: LogLevel
  readonly message: string
}

/** A logger that fails has nobody to tell it to. */
export function writeLine(logger: Logger, { what, level, message }: LogLine, fields: LogFields): void {
  try {
    const written: unknown = logger[level]({ what, ...fields }, message)
    if (written instanceof Promise) written.catch(() => {})
  } catch {
    // What the line is about goes on without it.
  }
}
