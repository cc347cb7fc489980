import { catchRejection, isPromiseLike } from '../promise-like.ts'
import type { Faults } from './faults.ts'
import { unusable } from './unusable.ts'

/**
 * How one option is read. A rule never throws: what it cannot accept it reports, and returns its fallback so that
 * reading goes on and finds the other faults too.
 */
export interface Rule<T> {
  read(value: unknown, path: string, faults: Faults): T
  /**
   * The data that the rule accepts. Config files are read by it, and their JSON Schema is generated from it. A rule without
   * a form accepts functions and objects with methods only, so its option cannot be set in a file.
   */
  readonly form?: Form | undefined
}

/** A rule for every field of an object, also for the fields that may be absent. */
export type RulesFor<T> = { readonly [K in keyof T]-?: Rule<T[K]> }

/** The form of data that a rule accepts, as far as a JSON Schema can say it. */
export type Form =
  | NumberForm
  | DurationForm
  | { readonly kind: 'flag' }
  | TextForm
  /** A name, a name with `*`, or a regular expression between slashes. */
  | { readonly kind: 'pattern' }
  | { readonly kind: 'choice'; readonly values: readonly (string | false)[] }
  | {
      readonly kind: 'list'
      readonly item: Form
      readonly minItems: number
      readonly maxItems: number
    }
  | { readonly kind: 'map'; readonly value: Form | undefined }
  | { readonly kind: 'fields'; readonly fields: Readonly<Record<string, Rule<unknown>>> }
  | { readonly kind: 'either'; readonly forms: readonly Form[] }

/** A number within limits. A file gives an option whose name ends in `Ms` as a duration such as `30s`. */
export interface NumberForm {
  readonly kind: 'number'
  readonly isInteger: boolean
  readonly min: number
  readonly max: number
  /** `min` itself is excluded. */
  readonly above: boolean
}

/** Milliseconds above 0, in a group whose name may end in `Ms`. A file gives a duration such as `30d`. */
interface DurationForm {
  readonly kind: 'duration'
}

/** A text that is not empty. */
interface TextForm {
  readonly kind: 'text'
  readonly maxLength?: number | undefined
  /** A regular expression that the text matches. */
  readonly pattern?: RegExp | undefined
}

/** The form of a value that has one of several forms; undefined if none of them is data. */
export function eitherForm(...forms: readonly (Form | undefined)[]): Form | undefined {
  const known = forms
    .filter(form => form !== undefined)
    .flatMap(form => (form.kind === 'either' ? form.forms : form))
  return known.length > 1 ? { kind: 'either', forms: known } : known[0]
}

interface NumberLimits {
  readonly min?: number
  readonly max?: number
  /** Exclude `min` itself. */
  readonly above?: boolean
}

/** A rule that accepts whole numbers within limits. */
export function integer(limits: NumberLimits = {}): Rule<number> {
  return numeric('a whole number', Number.isSafeInteger, limits)
}

/** A rule that accepts finite numbers within limits. */
export function number(limits: NumberLimits = {}): Rule<number> {
  return numeric('a number', Number.isFinite, limits)
}

/** Milliseconds. Fractions are allowed, NaN, infinity and negatives are not. */
export function milliseconds(limits: NumberLimits = {}): Rule<number> {
  return numeric('milliseconds', Number.isFinite, { min: 0, ...limits })
}

function numeric(noun: string, accepts: (value: number) => boolean, limits: NumberLimits): Rule<number> {
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY, above = false } = limits
  const remedy = `give ${noun}${rangeText(min, max, above)}`
  return {
    form: { kind: 'number', isInteger: accepts === Number.isSafeInteger, min, max, above },
    read(value, path, faults) {
      if (typeof value === 'number' && accepts(value) && value <= max && (above ? value > min : value >= min))
        return value
      faults.add(path, value, remedy)
      return Number.isFinite(min) ? min : 0
    },
  }
}

/** Begins with a space, or is empty without bounds. */
export function rangeText(min: number, max: number, above: boolean): string {
  const hasMax = Number.isFinite(max)
  if (!Number.isFinite(min)) return hasMax ? ` of at most ${max}` : ''
  if (above) return hasMax ? ` above ${min} and at most ${max}` : ` above ${min}`
  return hasMax ? ` from ${min} to ${max}` : ` of at least ${min}`
}

/** A rule that accepts texts that are not empty, up to a length [1 000 characters]. */
export function text(options: { readonly maxLength?: number } = {}): Rule<string> {
  const maxLength = options.maxLength ?? 1_000
  return {
    form: { kind: 'text', maxLength },
    read(value, path, faults) {
      if (typeof value === 'string' && value.length > 0 && value.length <= maxLength) return value
      faults.add(path, value, `give a string of 1 to ${maxLength} characters`)
      return ''
    },
  }
}

export function flag(): Rule<boolean> {
  return {
    form: { kind: 'flag' },
    read(value, path, faults) {
      if (typeof value === 'boolean') return value
      faults.add(path, value, 'give true or false')
      return false
    },
  }
}

/** A rule that accepts one of the given texts. */
export function oneOf<const T extends string>(...allowed: readonly [T, ...T[]]): Rule<T> {
  return {
    form: { kind: 'choice', values: allowed },
    read(value, path, faults) {
      const found = allowed.find(candidate => candidate === value)
      if (found !== undefined) return found
      faults.add(path, value, `give one of ${allowed.map(name => `'${name}'`).join(', ')}`)
      return allowed[0]
    },
  }
}

/**
 * A value recognised by a predicate: a function, a handle, anything with a shape of its own. `form` is for values that can
 * be data.
 */
export function custom<T>(accepts: (value: unknown) => value is T, remedy: string, form?: Form): Rule<T> {
  return {
    form,
    read(value, path, faults) {
      if (!accepts(value)) faults.add(path, value, remedy)
      return value as T
    },
  }
}

/** An object that has these methods, so that any implementation fits. It may be a function: some clients are. */
export function having<T>(remedy: string, ...methods: readonly (keyof T & string)[]): Rule<T> {
  const isFitting = (value: unknown): value is T => {
    const isFunction = typeof value === 'function' && methods.length > 0
    if (!isFunction && (typeof value !== 'object' || value === null)) return false
    try {
      return methods.every(method => typeof Reflect.get(value as object, method) === 'function')
    } catch {
      return false
    }
  }
  return custom(isFitting, remedy)
}

/** A rule that accepts functions. */
// biome-ignore lint/suspicious/noExplicitAny: the caller names the function's own type
export function callable<T extends (...args: any[]) => unknown>(remedy = 'give a function'): Rule<T> {
  return custom((value): value is T => typeof value === 'function', remedy)
}

/**
 * A listener whose result nobody needs. Its errors and rejections are swallowed: its caller is busy with something
 * else, such as reconnecting.
 */
// biome-ignore lint/suspicious/noExplicitAny: the caller names the function's own type
export function listener<T extends (...args: any[]) => void>(): Rule<T> {
  return derived(callable<T>(), tell => {
    const quiet = (...args: unknown[]): void => {
      try {
        catchRejection(tell(...args))
      } catch {
        // There is no receiver for this error.
      }
    }
    return quiet as T
  })
}

/** A function whose answer is needed at once, such as the line of an event. A promise of it is an error of the call. */
// biome-ignore lint/suspicious/noExplicitAny: the caller names the function's own type
export function synchronous<T extends (...args: any[]) => unknown>(remedy?: string): Rule<T> {
  const rule = callable<T>(remedy)
  return {
    read(value, path, faults) {
      const make = rule.read(value, path, faults)
      const checked = (...args: unknown[]): unknown => {
        const made = make(...args)
        if (isPromiseLike(made))
          throw unusable(path, made, 'return the value itself, and not a promise of it')
        return made
      }
      return checked as T
    },
  }
}

/** A rule that accepts arrays whose items follow another rule. */
export function list<T>(
  item: Rule<T>,
  options: { readonly minItems?: number; readonly maxItems?: number } = {},
): Rule<readonly T[]> {
  const { minItems = 0, maxItems = 1_000 } = options
  const remedy = `give an array of ${minItems > 0 ? `${minItems} to` : 'at most'} ${maxItems}`
  return {
    form: item.form && { kind: 'list', item: item.form, minItems, maxItems },
    read(value, path, faults) {
      if (!Array.isArray(value) || value.length < minItems || value.length > maxItems) {
        faults.add(path, value, remedy)
        return []
      }
      // Array.from reads holes too: a rule decides about every entry, given or not.
      return Object.freeze(Array.from(value, (entry, index) => item.read(entry, `${path}[${index}]`, faults)))
    },
  }
}

/** A map of names to values that follow another rule. A name may be any, also one of an object's prototype. */
export function entries<T>(rule: Rule<T>, remedy: string): Rule<Readonly<Record<string, T>>> {
  return {
    form: rule.form && { kind: 'map', value: rule.form },
    read(value, path, faults) {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) {
        faults.add(path, value, remedy)
        return {}
      }
      return Object.freeze(
        Object.fromEntries(
          Object.entries(value).map(([name, each]) => [name, rule.read(each, `${path}.${name}`, faults)]),
        ),
      )
    },
  }
}

/** The option may be left out; then it stays `undefined`. */
export function optional<T>(rule: Rule<T>): Rule<T | undefined> {
  return {
    form: rule.form,
    read: (value, path, faults) => (value === undefined ? undefined : rule.read(value, path, faults)),
  }
}

/** The option may be this word instead, such as 'off'. */
export function orWord<const W extends string, T>(word: W, rule: Rule<T>): Rule<T | W> {
  return {
    form: eitherForm({ kind: 'choice', values: [word] }, rule.form),
    read: (value, path, faults) => (value === word ? word : rule.read(value, path, faults)),
  }
}

/** The option may be left out; then it is `fallback`. */
export function withDefault<T>(rule: Rule<T>, fallback: T): Rule<T> {
  return {
    form: rule.form,
    read: (value, path, faults) => (value === undefined ? fallback : rule.read(value, path, faults)),
  }
}

/** Maps a valid option to another value. The function runs only if the option has no fault. */
export function derived<A, B>(rule: Rule<A>, derive: (given: A) => B): Rule<B> {
  return {
    form: rule.form,
    read(value, path, faults) {
      const before = faults.list.length
      const given = rule.read(value, path, faults)
      // The value is not used, because reading options with a fault ends in an error.
      return faults.list.length === before ? derive(given) : (undefined as B)
    },
  }
}
