import { CORRELATION_HEADER } from './correlation.ts'
import type { LazaretEvent } from './event.ts'

/** The id that all events of one request or business process share; undefined if the event has none. */
export function correlationIdOf({ headers }: Pick<LazaretEvent, 'headers'>): string | undefined {
  return Object.hasOwn(headers, CORRELATION_HEADER) ? headers[CORRELATION_HEADER] : undefined
}
