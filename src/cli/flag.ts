import { durationMs } from '../config/duration.ts'
import { whereRemedy } from '../core/dead-letter/where.ts'
import { BASE_PATH_REMEDY, readBasePath } from '../core/options/base-path.ts'
import { rangeText } from '../core/options/rules.ts'
import { readTime } from './read-time.ts'
import { suggest } from './suggest.ts'

/** One flag of a command: its help text, and the parser of its value. */
export interface Flag<T> {
  readonly about: string
  /** The placeholder of the value in help. A flag without one is a switch. */
  readonly placeholder?: string | undefined
  /** For help, and for the shell to complete. */
  readonly choices?: readonly string[] | undefined
  /** Throws FlagValueError. Never called for a switch. */
  read(text: string, now: number): T
}

export type Flags = Readonly<Record<string, Flag<unknown>>>

export type Values<F extends Flags> = {
  readonly [K in keyof F]: (F[K] extends Flag<infer T> ? T : never) | undefined
}

/** The message says what to give instead. The catcher adds the flag and the value. */
export class FlagValueError extends Error {
  override readonly name = 'FlagValueError'
}

export function switchFlag(about: string): Flag<boolean> {
  return { about, read: () => true }
}

/** A flag with a value. `read` returns undefined for an invalid text; `remedy` says what to give instead. */
function valued<T>(
  placeholder: string,
  about: string,
  read: (text: string, now: number) => T | undefined,
  remedy: string,
): Flag<T> {
  return {
    about,
    placeholder,
    read(text, now) {
      const value = read(text, now)
      if (value === undefined) throw new FlagValueError(remedy)
      return value
    },
  }
}

export function word(placeholder: string, about: string): Flag<string> {
  return valued(placeholder, about, text => text || undefined, 'give a non-empty text')
}

/** Conditions on fields of letters. */
export function conditions(about: string): Flag<string> {
  return {
    about,
    placeholder: 'CONDITIONS',
    read(text) {
      const remedy = whereRemedy(text)
      if (remedy !== undefined) throw new FlagValueError(remedy)
      return text
    },
  }
}

/** With `others: 'taken'` an unknown value is accepted too, because a newer version may have written it. */
export function choice<const T extends string>(
  placeholder: string,
  choices: readonly T[],
  about: string,
  others: 'refused' | 'taken' = 'refused',
): Flag<T> {
  const read = (text: string): T | undefined => {
    const found = choices.find(each => each === text)
    if (found !== undefined) return found
    const near = suggest(text, choices)
    if (near !== undefined) throw new FlagValueError(`did you mean '${near}'?`)
    return others === 'taken' && /^[a-z_]+$/.test(text) ? (text as T) : undefined
  }
  return { ...valued(placeholder, about, read, `give one of ${choices.join(', ')}`), choices }
}

export function count(about: string, placeholder = 'N', min = 1): Flag<number> {
  const isCount = (value: number) => value >= min && Number.isSafeInteger(value)
  const read = (text: string) => (/^\d+$/.test(text) && isCount(Number(text)) ? Number(text) : undefined)
  return valued(placeholder, about, read, `give a whole number of at least ${min}`)
}

/** 0 means any free port. */
export function port(about: string): Flag<number> {
  const read = (text: string) => (/^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined)
  return valued('PORT', about, read, 'give a port from 0 (any free port) to 65535')
}

export function basePath(about: string): Flag<string> {
  return valued('PATH', about, readBasePath, BASE_PATH_REMEDY)
}

/** A maximum number of rows, or `all`. */
export function countOrAll(about: string): Flag<number> {
  const read = (text: string) => {
    if (text === 'all') return Number.POSITIVE_INFINITY
    return /^\d{1,15}$/.test(text) && Number(text) >= 1 ? Number(text) : undefined
  }
  return valued('N|all', about, read, "give a whole number of at least 1, or 'all'")
}

export function amount(
  about: string,
  { above, max }: { readonly above?: number; readonly max: number },
): Flag<number> {
  const isIn = (value: number) => value <= max && (above === undefined ? value >= 0 : value > above)
  const read = (text: string) => (/^\d*\.?\d+$/.test(text) && isIn(Number(text)) ? Number(text) : undefined)
  return valued('X', about, read, `give a number${rangeText(above ?? 0, max, above !== undefined)}`)
}

export function duration(about: string): Flag<number> {
  return valued(
    'FOR',
    about,
    text => durationMs(text) || undefined,
    "give a duration such as '90s', '2h' or '3d'",
  )
}

export function time(about: string, direction: 'past' | 'future'): Flag<number> {
  const relative = direction === 'past' ? "'2h' for two hours ago" : "'2h' for two hours from now"
  const remedy = `give a time such as '2026-03-01T09:30Z', or ${relative}`
  const read = (text: string, now: number) => {
    const at = readTime(text, now, direction)
    if (direction === 'future' && at !== undefined && at <= now)
      throw new FlagValueError('the time is in the past; give a future time')
    return at
  }
  return valued('T', about, read, remedy)
}
