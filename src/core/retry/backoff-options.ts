import { group } from '../options/resolve.ts'
import { derived, eitherForm, type Form, oneOf, type Rule } from '../options/rules.ts'
import { type Backoff, backoffValueRule, isBackoff } from './backoff.ts'
import { type DecorrelatedOptions, decorrelatedRule } from './decorrelated.ts'
import { type ExponentialOptions, exponentialRule } from './exponential.ts'
import { type FixedOptions, fixedRule } from './fixed.ts'
import { type LinearOptions, linearRule } from './linear.ts'
import { tiers, tiersRule } from './tiers.ts'

/** A backoff as data, for options that come from a file: the name of its function and its options. */
export type BackoffOptions = SimpleBackoffOptions | TiersOptions

type SimpleBackoffOptions =
  | ({
      /** Each wait is a multiple of the wait before, as with `exponential()`. */
      readonly kind: 'exponential'
    } & ExponentialOptions)
  | ({
      /** Each wait is longer by the same step, as with `linear()`. */
      readonly kind: 'linear'
    } & LinearOptions)
  | ({
      /** Every wait is the same, as with `fixed()`. */
      readonly kind: 'fixed'
    } & FixedOptions)
  | ({
      /** Each wait is random and depends on the wait before, as with `decorrelated()`. */
      readonly kind: 'decorrelated'
    } & DecorrelatedOptions)

interface TiersOptions {
  /** Several backoffs, each for a number of retries, as with `tiers()`. */
  readonly kind: 'tiers'
  /** The backoffs, and how many retries each of them covers. */
  readonly tiers: readonly {
    /** How many retries wait by this tier's backoff before the next tier takes over. */
    readonly retries: number
    /** The waits before the retries of this tier. */
    readonly backoff: SimpleBackoffOptions | Backoff
  }[]
}

const SIMPLE = {
  exponential: exponentialRule,
  linear: linearRule,
  fixed: fixedRule,
  decorrelated: decorrelatedRule,
}
const simpleRule = byKind(SIMPLE)

/** A backoff as a value of code, or as data. */
export const backoffRule: Rule<Backoff> = byKind({
  ...SIMPLE,
  tiers: derived(group({ tiers: tiersRule(simpleRule) }), given => tiers(given.tiers)),
})

/** Data with a `kind` is read by the rule of that kind. Everything else must be a backoff already. */
function byKind(rules: Readonly<Record<string, Rule<Backoff>>>): Rule<Backoff> {
  return {
    form: eitherForm(...Object.entries(rules).map(([kind, rule]) => withKind(kind, rule.form))),
    read(value, path, faults) {
      if (!isDescription(value) || isBackoff(value)) return backoffValueRule.read(value, path, faults)
      const { kind, ...options } = value
      const [first = '', ...others] = Object.keys(rules)
      const before = faults.list.length
      const named = oneOf(first, ...others).read(kind, `${path}.kind`, faults)
      return faults.list.length > before
        ? (undefined as unknown as Backoff)
        : rules[named]!.read(options, path, faults)
    },
  }
}

function isDescription(value: unknown): value is { readonly kind: unknown } {
  return typeof value === 'object' && value !== null && 'kind' in value
}

function withKind(kind: string, form: Form | undefined): Form | undefined {
  return form?.kind === 'fields' ? { ...form, fields: { kind: oneOf(kind), ...form.fields } } : form
}
