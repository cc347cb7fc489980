import { isPlain } from '../../core/options/merge.ts'
import type { JsonSchema } from './form-schema.ts'

/** Shorter parts are not worth a reference. */
const SHORTEST = 80

type Count = { readonly name: string; times: number }

/**
 * Moves the parts that occur more than once to `definitions`, so that the schema stays small: a backoff alone occurs in more than
 * fifty places. A definition has the name of the first key that has it.
 */
export function withDefinitions(schema: JsonSchema): JsonSchema {
  const counts = new Map<string, Count>()
  count(schema, 'part', counts)
  const taken = new Map<string, string>()
  const definitions: Record<string, unknown> = {}

  const shorten = (value: unknown, isRoot = false): unknown => {
    if (Array.isArray(value)) return value.map(each => shorten(each))
    if (!isPlain(value)) return value
    const text = JSON.stringify(value)
    const counted = counts.get(text)
    if (isRoot || counted === undefined || counted.times < 2) return shortenFields(value)
    const known = taken.get(text)
    if (known !== undefined) return refTo(known)
    const name = freeName(counted.name, definitions)
    taken.set(text, name)
    // The name is taken before the parts of the definition look for theirs.
    definitions[name] = {}
    definitions[name] = shortenFields(value)
    return refTo(name)
  }
  const shortenFields = (value: object) =>
    Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shorten(each)]))

  const short = shorten(schema, true) as JsonSchema
  return { ...short, definitions }
}

function refTo(name: string): JsonSchema {
  return { $ref: `#/definitions/${name}` }
}

function freeName(name: string, definitions: object): string {
  for (let number = 1; ; number++) {
    const candidate = number === 1 ? name : `${name}${number}`
    if (!Object.hasOwn(definitions, candidate)) return candidate
  }
}

/** Counts the schemas, which are the objects with one of these keywords. The map of `properties` is not a schema. */
function count(value: unknown, name: string, counts: Map<string, Count>): void {
  if (Array.isArray(value)) for (const each of value) count(each, name, counts)
  if (!isPlain(value)) return
  const isSchema =
    ['type', 'anyOf', 'enum'].some(keyword => Object.hasOwn(value, keyword)) && !isProperties(value)
  const text = JSON.stringify(value)
  if (isSchema && text.length >= SHORTEST) {
    const known = counts.get(text)
    if (known !== undefined) {
      known.times++
      return
    }
    counts.set(text, { name, times: 1 })
  }
  for (const [key, each] of Object.entries(value))
    count(each, isProperties(value) ? key : nameBelow(key, name), counts)
}

/** A map of names to schemas may have an option that is named `type`. */
function isProperties(value: object): boolean {
  return !Object.hasOwn(value, 'if') && Object.values(value).every(each => isPlain(each))
}

function nameBelow(keyword: string, name: string): string {
  if (keyword === 'items') return `${name}Item`
  if (keyword === 'then') return `${name}Kind`
  return keyword === 'additionalProperties' ? `${name}Entry` : name
}
