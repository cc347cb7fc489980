import type { LazaretEvent } from '../event/event.ts'
import { matchesPattern, type NamePattern, patternRule } from '../options/pattern.ts'
import { group, type Resolved } from '../options/resolve.ts'
import { callable, list, optional, type Rule, text, withDefault } from '../options/rules.ts'

/**
 * Decides which events bypass the limit. An event that bypasses the limit does not count towards it either, so a bypass
 * that matches everything turns the limit off.
 */
export interface BypassOptions {
  /** Events of these severities bypass the limit [error, fatal]. */
  readonly severities?: readonly string[] | undefined
  /** Events of these types bypass the limit: names, `*` for any characters, or regular expressions [none]. */
  readonly types?: readonly NamePattern[] | undefined
  /** Sees the whole event, and returns `true` to let it bypass the limit [none]. A promise or an error does not. */
  readonly when?: ((event: LazaretEvent) => boolean) | undefined
}

const DEFAULT_BYPASS_SEVERITIES: readonly string[] = Object.freeze(['error', 'fatal'])

const rules = {
  severities: withDefault(list(text({ maxLength: 50 }), { maxItems: 20 }), DEFAULT_BYPASS_SEVERITIES),
  types: withDefault(list(patternRule, { maxItems: 100 }), Object.freeze([])),
  when: optional(callable<(event: LazaretEvent) => boolean>()),
}

export type BypassPolicy = Resolved<typeof rules>

export const bypassRule: Rule<BypassPolicy> = group(rules)

interface LimitedEvent {
  readonly type: string
  readonly severity: string | undefined
  readonly event: LazaretEvent
}

export function bypassesLimit(policy: BypassPolicy, { type, severity, event }: LimitedEvent): boolean {
  if (severity !== undefined && policy.severities.includes(severity)) return true
  for (const pattern of policy.types) if (matchesPattern(pattern, type)) return true
  return policy.when !== undefined && evaluate(policy.when, event)
}

/** A function that throws does not bypass the limit, because the limit protects the receiver. */
function evaluate(when: (event: LazaretEvent) => boolean, event: LazaretEvent): boolean {
  try {
    return when(event) === true
  } catch {
    return false
  }
}
