import type { LazaretEvent } from '../event/event.ts'
import type { Failure } from '../failure/failure.ts'
import { matchesPattern, type NamePattern } from '../options/pattern.ts'
import { group, type Resolved, resolveBy } from '../options/resolve.ts'
import { callable, custom, list, optional, type Rule, withDefault } from '../options/rules.ts'
import { unusable } from '../options/unusable.ts'
import type { Reason } from './reason.ts'

/** The options that limit events. The name is that of the option. */
const LIMITS = {
  rate_limited: 'rateLimit',
  retry_limited: 'retryLimit',
  retry_budget: 'budget',
} as const satisfies Partial<Record<Reason, string>>

/** The option that limited an event: `rateLimit`, `retryLimit` or `budget`. */
type LimitName = (typeof LIMITS)[keyof typeof LIMITS]

/** The parts of a letter that a filter function can read. */
export interface FilterSubject {
  /** The type of the event. */
  readonly name: string
  readonly payload: unknown
  /** The thrown value; undefined if no attempt was made. */
  readonly error: unknown
  readonly failure: Failure | undefined
  /** The handler or sink that gave up. */
  readonly handler: string
  readonly retryCount: number
  readonly event: LazaretEvent
  /** Why Lazaret gave up on the event: the reason that its letter has, such as `rate_limited`. */
  readonly reason: Reason
  /**
   * The option that limited the event; undefined if no limit did. In a job whose event no sink took, `reason` is
   * `tracking_failed_in_job`, and `limit` still names the limit.
   */
  readonly limit: LimitName | undefined
}

type FilterTest = (subject: FilterSubject) => boolean
/** A type of events (`*` for any characters), a regular expression for types, or a function of the letter. */
export type SavePattern = NamePattern | FilterTest

/** Decides which dead letters Lazaret saves. Without rules it saves all of them. */
export interface SaveFilterOptions {
  /** Lazaret never saves a letter that matches one of these, whatever else matches [none]. */
  readonly never?: readonly SavePattern[] | undefined
  /** Lazaret saves a letter that matches one of these, unless `never` matches too [none]. */
  readonly always?: readonly SavePattern[] | undefined
  /** Decides about letters that match no pattern [every such letter is saved]. */
  readonly saveIf?: FilterTest | undefined
}

/**
 * The rule that decided. `broken` means that a function threw or did not return a boolean. The letter is then saved,
 * because a mistake in a filter must not lose an event.
 */
interface SaveDecision {
  readonly save: boolean
  readonly rule: 'never' | 'always' | 'saveIf' | 'default' | 'broken'
}

/** Receives the errors of filter functions. Its own errors are ignored. */
type FilterReport = (rule: 'never' | 'always' | 'saveIf', error: unknown, subject: FilterSubject) => void

export type SaveFilter = (subject: FilterSubject) => SaveDecision

const pattern = custom(
  (value): value is SavePattern =>
    (typeof value === 'string' && value !== '') || value instanceof RegExp || typeof value === 'function',
  'give a string (with * for anything), a regular expression or a function',
  { kind: 'pattern' },
)

const RULES = {
  never: withDefault(list(pattern), []),
  always: withDefault(list(pattern), []),
  saveIf: optional(callable<FilterTest>('give a function that returns true to save')),
}

const NEVER: SaveDecision = { save: false, rule: 'never' }
const ALWAYS: SaveDecision = { save: true, rule: 'always' }
const SAVE_IF: SaveDecision = { save: true, rule: 'saveIf' }
const SAVE_IF_NOT: SaveDecision = { save: false, rule: 'saveIf' }
const DEFAULT: SaveDecision = { save: true, rule: 'default' }
const BROKEN: SaveDecision = { save: true, rule: 'broken' }

type SaveFilterPolicy = Resolved<typeof RULES>

/** The rule for consumers and dispatchers, which report a filter's faults together with their own. */
export const saveFilterRule: Rule<SaveFilterPolicy> = group(RULES)

export function createSaveFilter(options: SaveFilterOptions = {}, report?: FilterReport): SaveFilter {
  const { never, always, saveIf } = resolveBy('filter', saveFilterRule, options)
  const isNever = anyOf(never, 'never', report)
  const isAlways = anyOf(always, 'always', report)
  const isSaved = saveIf && guarded(saveIf, 'saveIf', report)
  return subject => {
    const excluded = isNever(subject)
    if (excluded === true) return NEVER
    const included = isAlways(subject)
    if (included === true) return ALWAYS
    if (excluded === undefined || included === undefined) return BROKEN
    if (isSaved === undefined) return DEFAULT
    const saved = isSaved(subject)
    if (saved === undefined) return BROKEN
    return saved ? SAVE_IF : SAVE_IF_NOT
  }
}

/** The limit behind a reason; undefined if the reason is not a limit. */
export function limitOf(reason: Reason): LimitName | undefined {
  return (LIMITS as Partial<Record<Reason, LimitName>>)[reason]
}

/** Returns undefined if the function throws or returns an unusable value. */
type Answer = boolean | undefined

/** One match decides for its list, even if another function of the list is broken. */
function anyOf(
  patterns: readonly SavePattern[],
  rule: 'never' | 'always',
  report: FilterReport | undefined,
): (subject: FilterSubject) => Answer {
  const tests = patterns.map(each => compile(each, rule, report))
  return subject => {
    let answer: Answer = false
    for (const test of tests) {
      const matches = test(subject)
      if (matches === true) return true
      if (matches === undefined) answer = undefined
    }
    return answer
  }
}

function compile(each: SavePattern, rule: 'never' | 'always', report: FilterReport | undefined) {
  if (typeof each === 'function') return guarded(each, rule, report)
  return (subject: FilterSubject): Answer => matchesPattern(each, subject.name)
}

function guarded(test: FilterTest, rule: 'never' | 'always' | 'saveIf', report: FilterReport | undefined) {
  return (subject: FilterSubject): Answer => {
    try {
      const answer: unknown = test(subject)
      if (typeof answer === 'boolean') return answer
      // A promise is truthy. An async function in `never` would therefore drop every letter.
      throw unusable('filter', answer, 'return true or false, and not a promise of it')
    } catch (error) {
      tell(report, rule, error, subject)
      return undefined
    }
  }
}

function tell(report: FilterReport | undefined, ...fault: Parameters<FilterReport>): void {
  try {
    report?.(...fault)
  } catch {
    // A failing observer must not lose a letter either.
  }
}
