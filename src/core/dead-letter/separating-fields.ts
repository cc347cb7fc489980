import { isMaskedValue } from './fields.ts'

/** The values of each field of a letter, as JSON texts and masked (fields.ts). */
export type LetterFields = ReadonlyMap<string, readonly string[]>

/** A field whose value separates two samples of letters. */
interface SeparatingField {
  readonly field: string
  /** The value as JSON; undefined stands for letters without the field. */
  readonly value: string | undefined
  /** How many letters of each sample have it. */
  readonly failed: number
  readonly recovered: number
}

export interface Separation {
  /** The fields that separate best, the best one first; for each field the value that separates best. */
  readonly fields: readonly SeparatingField[]
  /** The number of fields that were not compared because a mask hides a value of theirs. */
  readonly masked: number
}

/** Fewer letters than this in either sample say nothing. */
export const SEPARATION_MIN_LETTERS = 5
const MAX_FIELDS_SHOWN = 8
const MAX_VALUE_LENGTH = 200
/** The shares of the samples with the value have to differ by this much. */
const MIN_DIFFERENCE = 0.3
/** In standard errors. Many fields are compared at once, and some of them differ by chance. */
const MIN_DEVIATION = 3

/**
 * Finds what differs between letters that failed and letters that recovered: the fields with a value that is frequent in one
 * sample and rare in the other. An id, whose values all differ, is never among them. A field that is masked in any letter is left
 * out whole: neither its values nor how often they occur are told.
 */
export function separateFields(
  failed: readonly LetterFields[],
  recovered: readonly LetterFields[],
): Separation {
  const all = [...failed, ...recovered]
  const names = new Set(all.flatMap(letter => [...letter.keys()]))
  const masked = new Set(
    all.flatMap(letter =>
      [...letter].flatMap(([name, values]) => (values.some(isMaskedValue) ? [name] : [])),
    ),
  )
  if (failed.length < SEPARATION_MIN_LETTERS || recovered.length < SEPARATION_MIN_LETTERS)
    return { fields: [], masked: masked.size }
  const found = [...names]
    .filter(name => !masked.has(name) && !isMaskedValue(name))
    .flatMap(name => bestOf(name, failed, recovered) ?? [])
    .sort((a, b) => b.difference - a.difference || (a.found.field < b.found.field ? -1 : 1))
  return { fields: found.slice(0, MAX_FIELDS_SHOWN).map(each => each.found), masked: masked.size }
}

function bestOf(field: string, failed: readonly LetterFields[], recovered: readonly LetterFields[]) {
  const [inFailed, inRecovered] = [countsOf(field, failed), countsOf(field, recovered)]
  let best: { readonly found: SeparatingField; readonly difference: number } | undefined
  for (const value of new Set([...inFailed.keys(), ...inRecovered.keys()])) {
    const [a, b] = [inFailed.get(value) ?? 0, inRecovered.get(value) ?? 0]
    const difference = Math.abs(a / failed.length - b / recovered.length)
    const isBetter = difference > (best?.difference ?? 0)
    if (isBetter && isClear(a, failed.length, b, recovered.length))
      best = { found: { field, value, failed: a, recovered: b }, difference }
  }
  return best
}

/** How many letters have each value. A value that nobody would read is not counted. */
function countsOf(field: string, letters: readonly LetterFields[]): ReadonlyMap<string | undefined, number> {
  const counts = new Map<string | undefined, number>()
  for (const letter of letters)
    for (const value of letter.get(field) ?? [undefined])
      if ((value?.length ?? 0) <= MAX_VALUE_LENGTH) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}

/** The usual comparison of two shares. */
function isClear(a: number, sizeA: number, b: number, sizeB: number): boolean {
  const difference = Math.abs(a / sizeA - b / sizeB)
  const shared = (a + b) / (sizeA + sizeB)
  const error = Math.sqrt(shared * (1 - shared) * (1 / sizeA + 1 / sizeB))
  return difference >= MIN_DIFFERENCE && difference >= MIN_DEVIATION * error
}
