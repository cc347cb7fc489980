import type { LazaretEvent } from '../../core/event/event.ts'
import { SEVERITY_HEADER } from '../../core/event/severity.ts'
import { matchesPattern, type NamePattern, patternRule } from '../../core/options/pattern.ts'
import { group } from '../../core/options/resolve.ts'
import { callable, list, optional, type Rule, text, withDefault } from '../../core/options/rules.ts'

type Ask = (event: LazaretEvent) => boolean

/** Which events are critical: those that any of these names. */
export interface CriticalOptions {
  readonly severities?: readonly string[] | undefined
  /** Names, `*` for any characters, or regular expressions, held against the event's type. */
  readonly types?: readonly NamePattern[] | undefined
  /** Sees the whole event. One that throws has not said no, so the event is critical. */
  readonly when?: Ask | undefined
}

const named = group({
  severities: withDefault(list(text({ maxLength: 50 }), { maxItems: 20 }), Object.freeze([])),
  types: withDefault(list(patternRule, { maxItems: 100 }), Object.freeze([])),
  when: optional(callable<Ask>()),
})

/** Read once, and asked for every event. */
export const criticalRule: Rule<Ask> = {
  read(value, path, faults) {
    if (typeof value === 'function') return event => saysYes(value as Ask, event)
    const { severities, types, when } = named.read(value, path, faults)
    return event => {
      const severity = event.headers[SEVERITY_HEADER]
      if (severity !== undefined && severities.includes(severity)) return true
      if (types.some(pattern => matchesPattern(pattern, event.type))) return true
      return when !== undefined && saysYes(when, event)
    }
  },
}

/** What is critical must not hang on a mistake: only a clear no is a no. */
function saysYes(ask: Ask, event: LazaretEvent): boolean {
  try {
    return ask(event) !== false
  } catch {
    return true
  }
}
