import { durationMs } from '../config/duration.ts'
import { meant } from './meant.ts'
import { readTime } from './when.ts'

/** One flag of a command: what help says of it, and how its text becomes a value. */
export interface Flag<T> {
  readonly about: string
  /** What stands for the value in help; a flag without one is a switch. */
  readonly placeholder?: string | undefined
  /** For help, and for the shell to complete. */
  readonly choices?: readonly string[] | undefined
  /** Throws Unreadable. Never called for a switch. */
  read(text: string, now: number): T
}

export type Flags = Readonly<Record<string, Flag<unknown>>>

export type Values<F extends Flags> = {
  readonly [K in keyof F]: (F[K] extends Flag<infer T> ? T : never) | undefined
}

/** Says what to give instead; whoever catches it knows the flag and the text. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable'
}

export function onOff(about: string): Flag<boolean> {
  return { about, read: () => true }
}

export function word(placeholder: string, about: string): Flag<string> {
  return {
    about,
    placeholder,
    read(text) {
      if (text === '') throw new Unreadable('give a text that is not empty')
      return text
    },
  }
}

/** With `others` a value that is not known is taken too: a newer writer may know it. */
export function choice<const T extends string>(
  placeholder: string,
  choices: readonly T[],
  about: string,
  others: 'refused' | 'taken' = 'refused',
): Flag<T> {
  return {
    about,
    placeholder,
    choices,
    read(text) {
      const found = choices.find(each => each === text)
      if (found !== undefined) return found
      const near = meant(text, choices)
      if (near !== undefined) throw new Unreadable(`did you mean '${near}'?`)
      if (others === 'taken' && /^[a-z_]+$/.test(text)) return text as T
      throw new Unreadable(`give one of ${choices.join(', ')}`)
    },
  }
}

export function count(about: string, placeholder = 'N'): Flag<number> {
  return {
    about,
    placeholder,
    read(text) {
      const value = Number(text)
      if (/^\d+$/.test(text) && value >= 1 && Number.isSafeInteger(value)) return value
      throw new Unreadable('give a whole number of at least 1')
    },
  }
}

/** 0 is any that is free. */
export function port(about: string): Flag<number> {
  return {
    about,
    placeholder: 'PORT',
    read(text) {
      if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
      throw new Unreadable('give a port from 0, for any that is free, up to 65535')
    },
  }
}

/** How many to show, `all` being any number. */
export function countOrAll(about: string): Flag<number> {
  return {
    about,
    placeholder: 'N|all',
    read(text) {
      if (text === 'all') return Number.POSITIVE_INFINITY
      if (/^\d{1,15}$/.test(text) && Number(text) >= 1) return Number(text)
      throw new Unreadable("give a whole number of at least 1, or 'all'")
    },
  }
}

export function amount(
  about: string,
  limits: { readonly above?: number; readonly max: number },
): Flag<number> {
  const { above, max } = limits
  return {
    about,
    placeholder: 'X',
    read(text) {
      const value = Number(text)
      const isIn = value <= max && (above === undefined ? value >= 0 : value > above)
      if (/^\d*\.?\d+$/.test(text) && isIn) return value
      throw new Unreadable(`give a number ${above === undefined ? 'from 0' : `above ${above}`} up to ${max}`)
    },
  }
}

export function duration(about: string): Flag<number> {
  return {
    about,
    placeholder: 'FOR',
    read(text) {
      const ms = durationMs(text)
      if (ms !== undefined && ms > 0) return ms
      throw new Unreadable("give a duration such as '90s', '2h' or '3d'")
    },
  }
}

export function time(about: string, direction: 'past' | 'future'): Flag<number> {
  return {
    about,
    placeholder: 'T',
    read(text, now) {
      const at = readTime(text, now, direction)
      if (at !== undefined) return at
      const relative = direction === 'past' ? "'2h' for two hours ago" : "'2h' for two hours from now"
      throw new Unreadable(`give a time such as '2026-03-01T09:30Z', or ${relative}`)
    },
  }
}
