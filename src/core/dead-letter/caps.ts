import { prefixWithin } from '../event/text.ts'
import { group, type Resolved, resolveBy } from '../options/resolve.ts'
import { flag, integer, type Rule, withDefault } from '../options/rules.ts'

export const DEFAULT_MAX_ATTEMPTS_KEPT = 20
const DEFAULT_MAX_CYCLES_KEPT = 20
const DEFAULT_MAX_STACK_BYTES = 8_192
const DEFAULT_MAX_MESSAGE_BYTES = 4_096

const RULES = {
  maxAttempts: withDefault(integer({ min: 2, max: 1_000 }), DEFAULT_MAX_ATTEMPTS_KEPT),
  maxCycles: withDefault(integer({ min: 2, max: 1_000 }), DEFAULT_MAX_CYCLES_KEPT),
  keepStack: withDefault(flag(), false),
  maxStackBytes: withDefault(integer({ min: 16, max: 1_048_576 }), DEFAULT_MAX_STACK_BYTES),
  maxMessageBytes: withDefault(integer({ min: 16, max: 1_048_576 }), DEFAULT_MAX_MESSAGE_BYTES),
}

export type LetterCaps = Resolved<typeof RULES>

/** Limits on the history of a letter, so that no letter grows without end. */
export interface LetterCapsOptions {
  /** Attempts that a letter keeps for each cycle: the first one and the latest ones [20]. */
  readonly maxAttempts?: number | undefined
  /** Ended cycles that a letter keeps: the first one and the latest ones [20]. */
  readonly maxCycles?: number | undefined
  /** Whether letters keep the stacks of errors [false]. Stacks are large and reveal details of the code. */
  readonly keepStack?: boolean | undefined
  /** The longest stack that a letter keeps, in UTF-8 bytes [8 192]. It applies with `keepStack` only. */
  readonly maxStackBytes?: number | undefined
  /** The longest error message that a letter keeps, in UTF-8 bytes [4 096]. A longer message is cut. */
  readonly maxMessageBytes?: number | undefined
}

/** The rule for consumers and dispatchers, which report these faults together with their own. */
export const letterCapsRule: Rule<LetterCaps> = group(RULES)

export function resolveLetterCaps(options?: LetterCapsOptions): LetterCaps {
  return resolveBy('caps', letterCapsRule, options)
}

export const DEFAULT_LETTER_CAPS: LetterCaps = resolveLetterCaps()

const CUT_MARK = '…'
const CUT_MARK_BYTES = 3
/** A unit of UTF-16 takes at most this many bytes in UTF-8. Most messages fit even so, and need not be counted. */
const MAX_BYTES_PER_UNIT = 3

/** Returns the text if it fits. Otherwise it returns the longest beginning that fits together with the mark of the cut. */
export function capText(text: string, maxBytes: number): string {
  if (text.length * MAX_BYTES_PER_UNIT <= maxBytes) return text
  if (prefixWithin(text, maxBytes).length === text.length) return text
  return prefixWithin(text, maxBytes - CUT_MARK_BYTES) + CUT_MARK
}

/** Keeps the first entry, because it shows how the failure began, and the latest ones. It drops entries between them. */
export function keepFirstAndLatest<T>(items: readonly T[], max: number): readonly T[] {
  if (items.length <= max) return items
  return [items[0]!, ...items.slice(items.length - max + 1)]
}
