import type { LetterDetail } from '../api/types.ts'
import { type Difference, differences } from './differences.ts'
import { linesToCompare } from './json-lines.ts'

const NONE = 'none'
/** What the server puts in the place of a value that may not be shown. */
const MASK = '***'

/** What one letter has against another, field by field. A field that neither has is left out. */
export function letterDifferences(first: LetterDetail, second: LetterDetail): readonly Difference[] {
  return differences(fieldsOf(first), fieldsOf(second)).filter(
    ({ before, after }) => before !== NONE || after !== NONE,
  )
}

function fieldsOf(letter: LetterDetail): Record<string, string> {
  const { failure, event } = letter
  return {
    error: failure?.name ?? NONE,
    message: failure?.message ?? NONE,
    code: failure?.code ?? NONE,
    state: letter.state,
    reason: letter.reason.replaceAll('_', ' '),
    category: letter.category,
    release: letter.release ?? NONE,
    host: letter.host ?? NONE,
    channel: letter.channel,
    handler: letter.handler,
    job: letter.job ?? NONE,
    type: event.type,
    key: event.key ?? NONE,
    source: event.source ?? NONE,
    occurred: event.occurredAt,
    'first failed': letter.firstFailedAt,
    'last failed': letter.lastFailedAt,
    attempts: String(letter.attempts),
    replays: String(letter.replays),
  }
}

/** A value as lines of which equal ones stand for equal values: the order of names means nothing in JSON. */
export function comparableLines(value: unknown): readonly string[] {
  return value === undefined ? [] : linesToCompare(inOrder(value))
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder)
  if (typeof value !== 'object' || value === null) return value
  const sorted = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(sorted.map(([name, each]) => [name, inOrder(each)]))
}

/** Whether the mask hides a part of the letters, which then looks equal in both. */
export function hasMasked(...letters: readonly LetterDetail[]): boolean {
  return letters.some(({ event, failure, metadata }) =>
    JSON.stringify([event, failure, metadata]).includes(MASK),
  )
}
