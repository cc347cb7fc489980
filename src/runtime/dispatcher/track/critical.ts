import type { LazaretEvent } from '../../../core/event/event.ts'
import { SEVERITY_HEADER } from '../../../core/event/severity.ts'
import { matchesPattern, type NamePattern, patternRule } from '../../../core/options/pattern.ts'
import { group } from '../../../core/options/resolve.ts'
import { callable, list, optional, type Rule, text, withDefault } from '../../../core/options/rules.ts'
import { unusable } from '../../../core/options/unusable.ts'

type Ask = (event: LazaretEvent) => boolean

/** Which events are critical: those that any of these names. */
export interface CriticalOptions {
  /** Events of these severities are critical [none]. */
  readonly severities?: readonly string[] | undefined
  /** Events of these types are critical: names, `*` for any characters, or regular expressions [none]. */
  readonly types?: readonly NamePattern[] | undefined
  /**
   * Sees the whole event, and returns `false` for an event that is not critical [none]. If it throws, the event is
   * critical.
   */
  readonly when?: Ask | undefined
}

const named = group({
  severities: withDefault(list(text({ maxLength: 50 }), { maxItems: 20 }), Object.freeze([])),
  types: withDefault(list(patternRule, { maxItems: 100 }), Object.freeze([])),
  when: optional(callable<Ask>()),
})

/** Compiled once and called for every event. Errors of the user's function go to `report`. */
type CriticalTest = (event: LazaretEvent, report: (error: unknown) => void) => boolean

export const criticalRule: Rule<CriticalTest> = {
  form: named.form,
  read(value, path, faults) {
    if (typeof value === 'function') return (event, report) => evaluate(value as Ask, event, report)
    const { severities, types, when } = named.read(value, path, faults)
    return (event, report) => {
      const severity = event.headers[SEVERITY_HEADER]
      if (severity !== undefined && severities.includes(severity)) return true
      if (types.some(pattern => matchesPattern(pattern, event.type))) return true
      return when !== undefined && evaluate(when, event, report)
    }
  },
}

/** A mistake in the function must not make an event uncritical: only `false` does. */
function evaluate(ask: Ask, event: LazaretEvent, report: (error: unknown) => void): boolean {
  try {
    const answer: unknown = ask(event)
    if (typeof answer === 'object' && answer !== null)
      report(unusable('critical', answer, 'return true or false, and not a promise of it'))
    return answer !== false
  } catch (error) {
    report(error)
    return true
  }
}
