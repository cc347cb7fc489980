// Conditions on the fields of an event: `payload.customer.id = 7 and header.tenant = acme`.

import type { JsonValue } from '../event/event.ts'
import { withNumberTexts } from '../event/exact-numbers.ts'
import { isBytes } from '../event/plain.ts'
import type { DeadLetter } from './letter.ts'

/** What a filter says when its conditions cannot be read. */
export const WHERE_REMEDY =
  "give conditions such as 'payload.customer.id = 7 and header.tenant = acme'; a field begins with payload, header or metadata, and an operator is =, != or ~ (contains); join conditions with and; quote values with double quotes"

/** The longest text of conditions. */
export const MAX_WHERE_LENGTH = 1_000
export const WHERE_LENGTH_REMEDY = `give conditions of at most ${MAX_WHERE_LENGTH} characters together`

/** What to do about conditions that cannot be used; undefined if they can. */
export function whereRemedy(text: string): string | undefined {
  if (text.length > MAX_WHERE_LENGTH) return WHERE_LENGTH_REMEDY
  return parseWhere(text) === undefined ? WHERE_REMEDY : undefined
}

const MAX_CONDITIONS = 10
const MAX_STEPS = 20

type Operator = '=' | '!=' | '~'

/** One comparison. A letter has to meet every condition. */
interface FieldCondition {
  readonly root: 'payload' | 'header' | 'metadata'
  /** The names below the root. A header has one. */
  readonly steps: readonly string[]
  readonly operator: Operator
  readonly wanted: string
}

/** The parts of a letter that conditions look at. */
type WhereSubject = Pick<DeadLetter, 'event' | 'metadata'>

const QUOTED = '"(?:[^"\\\\]|\\\\.)*"'
const FIELD = new RegExp(`^\\s*(payload|header|metadata)((?:\\.(?:${QUOTED}|[^\\s."=!~]+))+)\\s*(=|!=|~)\\s*`)
const STEP = new RegExp(`\\.(${QUOTED}|[^."]+)`, 'g')
/** A value ends at the next `and`, or is quoted. An operator or quote of another language, as in `!== 7` or `'7'`, begins none. */
const VALUE = new RegExp(`^(?:(${QUOTED})|([^"'=!~\\s](?:.*?\\S)??))(?:\\s+and\\s+|\\s*$)`, 'is')
/** A further condition inside of a value, as in `7 or payload.b = 2`. */
const JOINED_OTHERWISE = /\s(?:payload|header|metadata)\.[^\s=!~]+\s*[=!~]/

/**
 * Reads conditions that `and` joins. A value with ` and `, with spaces at an end or with nothing in it stands in quotes, and so does one that
 * begins with `=`, `!`, `~` or `'` and a name with a dot or a space: `payload."first name" = "this and that"`. Undefined if the text is not a
 * list of conditions.
 */
export function parseWhere(text: string): readonly FieldCondition[] | undefined {
  const conditions: FieldCondition[] = []
  for (let rest = text; rest !== '' || conditions.length === 0; ) {
    const [taken, root, path, operator] = FIELD.exec(rest) ?? []
    if (taken === undefined || conditions.length === MAX_CONDITIONS) return undefined
    const [value, quoted, plain] = VALUE.exec(rest.slice(taken.length)) ?? []
    // Taken as a text, it would be equal to nothing, and `!=` would select every letter.
    if (plain !== undefined && JOINED_OTHERWISE.test(plain)) return undefined
    const wanted = quoted === undefined ? plain : unquoted(quoted)
    const steps = stepsOf(root!, path!)
    if (value === undefined || wanted === undefined || steps === undefined) return undefined
    conditions.push({
      root: root as FieldCondition['root'],
      steps,
      operator: operator as Operator,
      wanted,
    })
    rest = rest.slice(taken.length + value.length)
    // An `and` at the end joins nothing.
    if (rest === '' && /\sand\s*$/i.test(value)) return undefined
  }
  return conditions
}

/** A header has dots in its name as often as not, so the rest of the path is its name. */
function stepsOf(root: string, path: string): readonly string[] | undefined {
  const names = [...path.matchAll(STEP)].map(([, name]) => (name!.startsWith('"') ? unquoted(name!) : name))
  if (names.length > MAX_STEPS || names.includes(undefined)) return undefined
  return root === 'header' ? [names.join('.')] : (names as string[])
}

function unquoted(text: string): string | undefined {
  try {
    return JSON.parse(text) as string
  } catch {
    return undefined
  }
}

/** Whether the letter meets every condition. */
export function meetsAll(subject: WhereSubject, conditions: readonly FieldCondition[]): boolean {
  return conditions.every(condition => meets(subject, condition))
}

function meets(
  { event, metadata }: WhereSubject,
  { root, steps, operator, wanted }: FieldCondition,
): boolean {
  if (root === 'header') return compares(headersNamed(event.headers, steps[0]!), operator, wanted)
  const whole = root === 'payload' ? withNumberTexts(event).payload : metadata
  const isReadable = whole !== undefined && !isBytes(whole)
  return compares(isReadable ? valuesAt(whole as JsonValue, steps) : [], operator, wanted)
}

/** The names of headers are the same in any case, as in HTTP. */
function headersNamed(headers: Readonly<Record<string, string>>, name: string): readonly string[] {
  const wanted = name.toLowerCase()
  return Object.entries(headers).flatMap(([each, value]) => (each.toLowerCase() === wanted ? [value] : []))
}

/** The values at a path. A number leads to one entry of an array, a name into every entry; at the end every entry counts. */
function valuesAt(value: JsonValue, steps: readonly string[]): readonly JsonValue[] {
  const [step, ...rest] = steps
  if (Array.isArray(value)) {
    if (step === undefined) return value
    if (/^\d{1,9}$/.test(step))
      return value[Number(step)] === undefined ? [] : valuesAt(value[Number(step)], rest)
    return value.flatMap(each => valuesAt(each, steps))
  }
  if (step === undefined) return [value]
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return []
  return valuesAt((value as Readonly<Record<string, JsonValue>>)[step]!, rest)
}

/** A letter without the field differs from every value. */
function compares(found: readonly JsonValue[], operator: Operator, wanted: string): boolean {
  if (operator === '~') {
    const lowerCased = wanted.toLowerCase()
    return found.some(each => textOf(each)?.toLowerCase().includes(lowerCased))
  }
  const hasIt = found.some(each => isEqual(each, wanted))
  return operator === '=' ? hasIt : !hasIt
}

/** A number is equal whichever way it is written. */
function isEqual(value: JsonValue, wanted: string): boolean {
  if (typeof value === 'number' && wanted.trim() !== '') return value === Number(wanted)
  return textOf(value) === wanted
}

function textOf(value: JsonValue): string | undefined {
  return typeof value === 'object' && value !== null ? undefined : String(value)
}
