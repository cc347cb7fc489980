import { custom, derived, eitherForm, type Rule } from '../core/options/rules.ts'
import { durationMs } from './duration.ts'

const NUMBER = /^-?\d+(?:\.\d+)?$/

/** Numbers, and texts of numbers: environment variables are text. */
export function numeric<T>(rule: Rule<T>): Rule<T> {
  return {
    form: rule.form,
    read(value, path, faults) {
      const isNumber = typeof value === 'string' && NUMBER.test(value.trim())
      return rule.read(isNumber ? Number(value) : value, path, faults)
    },
  }
}

/** The same for a group of numbers and booleans. */
export function coerced<T>(rule: Rule<T>): Rule<T> {
  return {
    form: rule.form,
    read(value, path, faults) {
      if (typeof value !== 'object' || value === null || Array.isArray(value))
        return rule.read(value, path, faults)
      const fields = Object.entries(value).map(([name, each]) => [name, asNumberOrBoolean(each)])
      return rule.read(Object.fromEntries(fields), path, faults)
    },
  }
}

function asNumberOrBoolean(value: unknown): unknown {
  if (value === 'true') return true
  if (value === 'false') return false
  return typeof value === 'string' && NUMBER.test(value.trim()) ? Number(value) : value
}

/** Accepts true and false, also as text. */
export function boolean(rule: Rule<boolean>): Rule<boolean> {
  return {
    form: rule.form,
    read: (value, path, faults) =>
      rule.read(value === 'true' ? true : value === 'false' ? false : value, path, faults),
  }
}

export const HTTP = /^https?:\/\/./

/** A URL that begins as the pattern says. */
export function url(pattern: RegExp, remedy: string): Rule<string> {
  return custom(
    (value): value is string => typeof value === 'string' && pattern.test(value) && URL.canParse(value),
    remedy,
    { kind: 'text', pattern },
  )
}

/** `90s`, `24h`, `30d`, in milliseconds. */
export const duration: Rule<number> = derived(
  custom(
    (value): value is string => typeof value === 'string' && positiveDuration(value) !== undefined,
    "give a duration above 0 such as '90s', '24h' or '30d'",
    { kind: 'duration' },
  ),
  text => positiveDuration(text)!,
)

/** The same, or `never`. */
export const durationOrNever: Rule<number | 'never'> = derived(
  custom(
    (value): value is string =>
      value === 'never' || (typeof value === 'string' && positiveDuration(value) !== undefined),
    "give a duration above 0 such as '30d', or 'never'",
    eitherForm({ kind: 'choice', values: ['never'] }, { kind: 'duration' }),
  ),
  text => positiveDuration(text) ?? 'never',
)

/** A duration is above zero: leave the option out to turn the feature off. */
function positiveDuration(text: string): number | undefined {
  const ms = durationMs(text.trim())
  return ms === 0 ? undefined : ms
}

/** A regular expression as a text. */
export const regExp: Rule<RegExp> = derived(
  custom(isRegExp, "give a regular expression as a text, such as 'AC\\d{8}'", { kind: 'text' }),
  text => new RegExp(text, 'u'),
)

function isRegExp(value: unknown): value is string {
  if (typeof value !== 'string' || value === '') return false
  try {
    return new RegExp(value, 'u') !== undefined
  } catch {
    return false
  }
}

const STORE_URL = /^(?:memory:$|(?:file|sqlite):.|(?:postgres|postgresql|redis|rediss):\/\/.)/

export const storeUrl: Rule<string> = custom(
  (value): value is string => typeof value === 'string' && STORE_URL.test(value),
  "give a store URL such as 'sqlite:./lazaret.db' or 'file:./var/dead-letters'",
  { kind: 'text', pattern: STORE_URL },
)

const FILE_URL = /^file:./

export const fileUrl: Rule<string> = custom(
  (value): value is string => typeof value === 'string' && FILE_URL.test(value),
  "give a local folder, such as 'file:./var/spill'",
  { kind: 'text', pattern: FILE_URL },
)

/** The option may be `off` or `false`. */
export function orOff<T, O>(rule: Rule<T>, off: O): Rule<T | O> {
  return {
    form: eitherForm({ kind: 'choice', values: ['off', false] }, rule.form),
    read: (value, path, faults) =>
      value === 'off' || value === false ? off : rule.read(value, path, faults),
  }
}
