import type { LogFields, Logger, LogLevel } from '../ports/logger.ts'
import type { Io } from './io.ts'
import { jsonLine } from './print/json.ts'

/** A line of JSON on standard error for each, as whoever gathers the logs of services can read it. */
export function stderrLogger({ stderr, clock }: Pick<Io, 'stderr' | 'clock'>): Logger {
  const at = (level: LogLevel) => (fields: LogFields, message: string) => {
    const time = new Date(clock.now()).toISOString()
    void stderr.write(jsonLine({ level, time, ...fields, msg: message })).catch(() => {})
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
