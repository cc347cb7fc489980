import { letterToJson } from '../../core/dead-letter/json.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { maskLetter } from '../../core/dead-letter/mask-letter.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import { safeText } from './safe-text.ts'

/** Fields with user data are not converted: a number in a payload is not a time, whatever its name. */
const USER_DATA = new Set(['payload', 'headers', 'detail', 'metadata', 'patch', 'origin'])
const TIME_NAME = /^(?:at|after|before|[a-z]\w*(?:At|Until))$/

/** Converts times from epoch milliseconds to ISO 8601. */
export function toJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toJson)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      if (USER_DATA.has(name)) return [name, inner]
      const isTime = typeof inner === 'number' && TIME_NAME.test(name) && Math.abs(inner) <= 8.64e15
      return [name, isTime ? new Date(inner).toISOString() : toJson(inner)]
    }),
  )
}

/** The JSON of a letter, masked unless it is revealed. */
export function letterJson(letter: DeadLetter, masks: Masks | 'reveal'): unknown {
  return toJson(masks === 'reveal' ? letterToJson(letter) : maskLetter(letter, masks))
}

/** JSON leaves some control characters as they are. Escaped, they mean the same to a program, and nothing to a terminal. */
export function jsonLine(value: unknown): string {
  return `${safeText(JSON.stringify(value))}\n`
}
