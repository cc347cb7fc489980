import { letterToJson } from '../../core/dead-letter/json.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { maskLetter } from '../../core/dead-letter/mask-letter.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'

/**
 * Data of the user is shown as it is: a number in a payload is not converted to a time, even if its name suggests one.
 */
const USER_DATA = new Set(['payload', 'headers', 'detail', 'patch', 'origin'])
const TIME_NAME = /^(?:at|after|before|[a-z]\w*(?:At|Until))$/

/** Times are epoch milliseconds inside and ISO 8601 outside. */
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

/** A letter as it may be shown, or as it is where a person has asked to see it. */
export function letterJson(letter: DeadLetter, masks: Masks | 'reveal'): unknown {
  return toJson(masks === 'reveal' ? letterToJson(letter) : maskLetter(letter, masks))
}

export function jsonLine(value: unknown): string {
  return `${JSON.stringify(value)}\n`
}
