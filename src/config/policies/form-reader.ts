import type { Faults } from '../../core/options/faults.ts'
import { isPlain } from '../../core/options/merge.ts'
import { nearest } from '../../core/options/nearest.ts'
import { type Form, type NumberForm, type Rule, rangeText } from '../../core/options/rules.ts'
import { durationMs, durationText } from '../duration.ts'

type Fields = Readonly<Record<string, Rule<unknown>>>
type Steps = readonly string[]

const NUMBER = /^-?\d+(?:\.\d+)?$/
const REGULAR_EXPRESSION = /^\/(.+)\/([a-z]*)$/s
/** A text that is meant to be a function of code. */
const FUNCTION = /^\s*(?:async\s+)?(?:function\b[^(]*\(|(?:\([^()]*\)|[\w$]+)\s*=>)/

/** The place in the source that an option came from. */
export interface OptionPlace {
  readonly path: string
  readonly steps: Steps
}

/**
 * Turns the values of a file into options: `timeout: 30s` into `timeoutMs: 30000`, texts of variables into numbers, texts
 * between slashes into regular expressions. It reports unknown names and malformed durations. Whether an option is valid is
 * for its rule to say; `places` maps the path of an option to its place in the source.
 */
export class FormReader {
  readonly places = new Map<string, OptionPlace>()
  readonly #faults: Faults

  constructor(faults: Faults) {
    this.#faults = faults
  }

  /**
   * `option` is the path of the option, `steps` is its place in the source. With `isMs` the file has the name from code, such
   * as `expiresAfterMs`, and gives times in milliseconds.
   */
  read(form: Form | undefined, value: unknown, option: string, steps: Steps, isMs = false): unknown {
    this.places.set(option, { path: steps.join('.'), steps })
    if (form !== undefined && typeof value === 'string' && FUNCTION.test(value)) {
      this.#add(steps, value, 'a file cannot contain a function: give it in code')
      return undefined
    }
    switch (form?.kind) {
      case 'fields':
        return this.#fields(form.fields, value, option, steps, isMs)
      case 'map':
        return this.#map(form.value, value, option, steps, isMs)
      case 'list':
        return this.#list(form.item, value, option, steps, isMs)
      case 'either': {
        const meant = formFor(value, form.forms)
        return meant?.kind === 'duration' && !isMs
          ? this.#time(value, wordsOf(form.forms), steps)
          : this.read(meant, value, option, steps, isMs)
      }
      case 'duration':
        return isMs ? asNumber(value) : this.#time(value, [], steps)
      case 'number':
        return asNumber(value)
      case 'flag':
        return value === 'true' ? true : value === 'false' ? false : value
      case 'pattern':
        return this.#pattern(value, steps)
      default:
        return value
    }
  }

  #fields(fields: Fields, value: unknown, option: string, steps: Steps, isMs: boolean): unknown {
    const given = this.#entries(value, steps, `give a map with ${fileNames(fields).join(', ')}`)
    const read: Record<string, unknown> = {}
    for (const [key, each] of given) {
      if (each === undefined) continue
      const at = [...steps, key]
      const name = optionName(fields, key)
      if (name === undefined) this.#unknown(fields, key, each, at)
      else if (fields[name]!.form === undefined) this.#add(at, each, 'a file cannot set it: give it in code')
      else if (name in read) this.#add(at, each, `give ${fileName(fields, name)} or ${name}, not both`)
      else {
        const form = fields[name]!.form!
        const path = option === '' ? name : `${option}.${name}`
        read[name] =
          name === key || form.kind !== 'number'
            ? this.read(form, each, path, at, name === key && (isMs || key.endsWith('Ms')))
            : this.#duration(form, each, path, at)
      }
    }
    return read
  }

  #map(form: Form | undefined, value: unknown, option: string, steps: Steps, isMs: boolean): unknown {
    const given = this.#entries(value, steps, 'give a map of names to options')
    return Object.fromEntries(
      given.map(([name, each]) => [name, this.read(form, each, `${option}.${name}`, [...steps, name], isMs)]),
    )
  }

  /** A key without a value, such as `orders:`, is an empty map. */
  #entries(value: unknown, steps: Steps, remedy: string): readonly [string, unknown][] {
    if (value === undefined || value === null) return []
    if (isPlain(value)) return Object.entries(value)
    this.#add(steps, value, remedy)
    return []
  }

  #list(item: Form, value: unknown, option: string, steps: Steps, isMs: boolean): unknown {
    if (Array.isArray(value))
      return value.map((each, index) =>
        this.read(item, each, `${option}[${index}]`, [...steps, String(index)], isMs),
      )
    // An object in place of a file may have a function instead.
    if (isCode(value)) return value
    this.#add(steps, value, `give a list${item.kind === 'choice' ? ` of ${item.values.join(', ')}` : ''}`)
    return undefined
  }

  #time(value: unknown, words: readonly string[], steps: Steps): number | undefined {
    const ms = typeof value === 'string' ? durationMs(value.trim()) : undefined
    if (ms !== undefined && ms > 0) return ms
    const orWords = words.map(word => `, or '${word}'`).join('')
    this.#add(steps, value, `give a duration above 0 such as '30d'${orWords}`)
    return undefined
  }

  #duration(form: NumberForm, value: unknown, option: string, steps: Steps): number | undefined {
    this.places.set(option, { path: steps.join('.'), steps })
    const { min, max, above } = form
    const ms = typeof value === 'string' ? durationMs(value.trim()) : undefined
    if (ms !== undefined && ms <= max && (above ? ms > min : ms >= min)) return ms
    const range = rangeText(min, max, above).replaceAll(/\d+/g, each => durationText(Number(each)))
    this.#add(steps, value, `give a duration${min === 0 && !above ? '' : range} such as '30s'`)
    return undefined
  }

  #pattern(value: unknown, steps: Steps): unknown {
    const [, source, flags] = (typeof value === 'string' && REGULAR_EXPRESSION.exec(value)) || []
    if (source === undefined) return value
    try {
      return new RegExp(source, flags)
    } catch {
      this.#add(steps, value, "give a name, or a regular expression such as '/^payment\\./'")
      return undefined
    }
  }

  #unknown(fields: Fields, key: string, value: unknown, steps: Steps): void {
    const known = fileNames(fields)
    const near = nearest(key, known)
    this.#add(
      steps,
      value,
      `unknown option, ${near ? `did you mean '${near}'?` : `remove it; known options are ${known.join(', ')}`}`,
    )
  }

  #add(steps: Steps, value: unknown, remedy: string): void {
    const path = steps.join('.')
    this.places.set(faultKey(path), { path, steps })
    this.#faults.add(faultKey(path), value, remedy)
  }
}

/** The path of a fault that the reader found itself: its place in the source, which is not the path of an option. */
export function faultKey(place: string): string {
  return `\n${place}`
}

function asNumber(value: unknown): unknown {
  return typeof value === 'string' && NUMBER.test(value.trim()) ? Number(value) : value
}

/** The option that a key of the file sets: `timeout` and `timeoutMs` both set `timeoutMs`. */
export function optionName(fields: Fields, key: string): string | undefined {
  if (Object.hasOwn(fields, key)) return key
  const name = `${key}Ms`
  return Object.hasOwn(fields, name) && isTime(fields[name]!.form) ? name : undefined
}

/** How a file spells an option. */
export function fileName(fields: Fields, name: string): string {
  return name.endsWith('Ms') && isTime(fields[name]!.form) ? name.slice(0, -2) : name
}

function isTime(form: Form | undefined): boolean {
  if (form?.kind === 'either') return form.forms.some(({ kind }) => kind === 'duration')
  return form?.kind === 'number' || form?.kind === 'duration'
}

function wordsOf(forms: readonly Form[]): readonly string[] {
  return forms.flatMap(form => (form.kind === 'choice' ? form.values.map(String) : []))
}

/** The options that a file can set, as it spells them. */
export function fileNames(fields: Fields): readonly string[] {
  return Object.keys(fields)
    .filter(name => fields[name]!.form !== undefined)
    .map(name => fileName(fields, name))
}

/** The form that a value is meant to have. A rule decides about a value that fits none. */
export function formFor(value: unknown, forms: readonly Form[]): Form | undefined {
  const time = forms.find(({ kind }) => kind === 'duration')
  if (Array.isArray(value)) return forms.find(({ kind }) => kind === 'list') ?? time
  if (isPlain(value)) return Object.values(value).some(isCode) ? undefined : groupFor(value, forms)
  if (forms.some(form => form.kind === 'choice' && form.values.includes(String(value)))) return undefined
  return time ?? forms.find(({ kind }) => kind === 'number' || kind === 'flag' || kind === 'pattern')
}

/** Groups that are alternatives differ in a choice, such as the `kind` of a backoff. */
function groupFor(value: object, forms: readonly Form[]): Form | undefined {
  const groups = forms.filter(form => form.kind === 'fields')
  if (groups.length < 2) return groups[0] ?? forms.find(({ kind }) => kind === 'map')
  return groups.find(({ fields }) =>
    Object.entries(fields).every(([name, { form }]) => {
      const given = (value as Record<string, unknown>)[name]
      return form?.kind !== 'choice' || form.values.length > 1 || form.values.includes(String(given))
    }),
  )
}

function isCode(value: unknown): boolean {
  return typeof value === 'function'
}
