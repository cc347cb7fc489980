// The one form of a cursor, whichever listing and store it is from: the place where the page ended, and a mark of the
// listing, its filter and that place. A cursor that was cut, changed, or handed out by another listing or filter has
// another mark. The mark is not secret, so every reader of a position still checks that it is valid.
import { hash128 } from '../../core/hash.ts'
import { OptionsError } from '../../core/options/faults.ts'

const MARK_DIGITS = 8
const MARKED = /^(.+)_([0-9a-f]{8})$/s
/** No listing hands out a longer one; a longer text is refused before anything is computed from it. */
const MAX_CURSOR_LENGTH = 8_192
/** Of a refused cursor, so much is quoted. */
const SHOWN_LENGTH = 80

/** The listing and the filter that a cursor belongs to. The filter is any JSON value. */
export interface Listing {
  readonly name: string
  readonly filter?: unknown
}

/** Makes the cursor of a listing for the page after a place. */
export function encodeCursor(listing: Listing, place: string): string {
  return `${place}_${markOf(listing, place)}`
}

/**
 * The place that the cursor names, as `read` understands it. A cursor that this listing cannot have handed out is
 * refused with OptionsError; so is a place of which `read` makes undefined.
 */
export function decodeCursor<T>(listing: Listing, cursor: string, read: (place: string) => T | undefined): T {
  if (cursor.length <= MAX_CURSOR_LENGTH) {
    const [, place, mark] = MARKED.exec(cursor) ?? []
    if (place !== undefined && mark === markOf(listing, place)) {
      const found = read(place)
      if (found !== undefined) return found
    }
  }
  throw cursorFault(cursor)
}

function cursorFault(cursor: string): OptionsError {
  const shown = JSON.stringify(cursor.slice(0, SHOWN_LENGTH))
  const received = cursor.length > SHOWN_LENGTH ? `${shown} and ${cursor.length - SHOWN_LENGTH} more` : shown
  const remedy = 'give the cursor of the previous page, with the same filter'
  return new OptionsError('query', [{ path: 'query.cursor', received, remedy }])
}

/** A place in a list by time: the time and an id. */
export function encodeTimedPosition(at: number, id: string): string {
  return `${at}_${id}`
}

/** Reads the time and id of a place. Undefined if the text is not a place. */
export function decodeTimedPosition(place: string): { readonly at: number; readonly id: string } | undefined {
  const [, time, id] = /^(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)_(.+)$/s.exec(place) ?? []
  if (id === undefined || !isStorableText(id) || !Number.isFinite(Number(time))) return undefined
  return { at: Number(time), id }
}

/** Databases refuse a text with NUL or half a character, and that would look like their failure. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\u0000')
}

function markOf({ name, filter }: Listing, place: string): string {
  return hash128(JSON.stringify([name, filter ?? null, place])).slice(0, MARK_DIGITS)
}
