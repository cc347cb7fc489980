/** The level of a log line. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** The facts of a line, by names that stay as they are. Never a payload. */
export type LogFields = Readonly<Record<string, unknown>>

/**
 * Where lines go, in the shape of pino: a pino logger is one as it is, and any other logger with four short functions.
 *
 * A line is written synchronously and is not waited for. A logger that throws, or whose promise rejects, changes nothing
 * for what it was told of. `fields` is the logger's to keep or to change.
 */
export interface Logger {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
}
