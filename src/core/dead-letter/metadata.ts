import type { JsonValue } from '../event/event.ts'
import { isPlainObject } from '../event/plain.ts'
import { textBytes } from '../event/text.ts'
import type { Rule } from '../options/rules.ts'
import { unusable } from '../options/unusable.ts'
import { isPromiseLike } from '../promise-like.ts'
import type { FilterSubject } from './filter.ts'

/** The longest JSON text of metadata. A letter must stay small, whatever a function returns. */
const MAX_METADATA_BYTES = 8_192
const MAX_METADATA_DEPTH = 20
const REMEDY = `give a plain object of JSON values with at most ${MAX_METADATA_BYTES} bytes and ${MAX_METADATA_DEPTH} levels`

/** Custom facts of a dead letter, such as the tenant or the team that owns the handler. */
export type LetterMetadata = Readonly<Record<string, JsonValue>>

/** The metadata of all letters, or a function that returns those of one letter. */
export type MetadataOption = LetterMetadata | ((subject: FilterSubject) => LetterMetadata | undefined)

/** The rule of the option `metadata`. The caller's object is copied, so that later changes do not reach letters. */
export const metadataRule: Rule<MetadataOption | undefined> = {
  form: { kind: 'map', value: undefined },
  read(value, path, faults) {
    if (value === undefined || typeof value === 'function') return value as MetadataOption | undefined
    const copy = copied(value)
    if (copy === undefined) faults.add(path, value, REMEDY)
    return copy
  },
}

/** The metadata of one letter. A function that fails leaves the letter without metadata, and is reported. */
export function metadataOf(
  option: MetadataOption | undefined,
  subject: () => FilterSubject,
  report: (error: unknown) => void,
): LetterMetadata | undefined {
  if (typeof option !== 'function') return option
  try {
    const answer: unknown = option(subject())
    const copy = answer === undefined || isPromiseLike(answer) ? undefined : copied(answer)
    if (answer !== undefined && copy === undefined) throw unusable('metadata', answer, REMEDY)
    return copy
  } catch (error) {
    report(error)
    return undefined
  }
}

/** The texts and numbers in metadata, for a search. */
export function metadataTexts(value: JsonValue | LetterMetadata | undefined): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value === 'number') return [String(value)]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(metadataTexts)
}

/** A frozen copy as JSON keeps it; undefined if a store could not keep it. */
function copied(value: unknown): LetterMetadata | undefined {
  try {
    if (!isPlainObject(value)) return undefined
    const text = JSON.stringify(value)
    if (textBytes(text) > MAX_METADATA_BYTES) return undefined
    const copy: unknown = JSON.parse(text)
    // A toJSON() can make anything of an object, and no store reads a letter whose metadata are not an object.
    return isPlainObject(copy) && isStorable(copy, MAX_METADATA_DEPTH) ? (copy as LetterMetadata) : undefined
  } catch {
    // A BigInt, a cycle, or a getter that throws.
    return undefined
  }
}

/** Freezes a value on the way: the letters of a consumer share the metadata of its options. */
function isStorable(value: unknown, levels: number): boolean {
  // The SQL types of Postgres cannot keep NUL and halves of surrogate pairs.
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0')
  if (typeof value !== 'object' || value === null) return true
  Object.freeze(value)
  return (
    levels > 0 &&
    Object.entries(value).every(([name, each]) => isStorable(name, 0) && isStorable(each, levels - 1))
  )
}
