import { resolveOptions } from '../../core/options/resolve.ts'
import { optional, text, withDefault } from '../../core/options/rules.ts'
import type { LineOptions } from './line.ts'

/** Options of `pinoEvents()`. */
export interface PinoEventsOptions {
  /** What the types of events begin with; the severity follows: `log.error` ['log']. */
  readonly type?: string | undefined
  /** The field of a line that names the type of its event, such as 'event' [none]. */
  readonly typeField?: string | undefined
}

export const lineRules = {
  type: withDefault(text({ maxLength: 100 }), 'log'),
  typeField: optional(text({ maxLength: 100 })),
}

export function resolveLine(subject: string, options: PinoEventsOptions): LineOptions {
  return resolveOptions(subject, lineRules, options)
}
