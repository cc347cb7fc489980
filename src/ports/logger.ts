/** The level of a log line. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** The facts of a line, by names that stay as they are. Never a payload. */
export type LogFields = Readonly<Record<string, unknown>>

/**
 * Receives log lines, in the shape of pino. A pino logger fits as it is; any other logger needs four short functions.
 *
 * Lazaret calls the logger synchronously and does not wait for it. A logger that throws, or whose promise rejects, does not
 * affect the events that the line is about. The logger may keep or change `fields`.
 */
export interface Logger {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
}
