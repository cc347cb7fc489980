import { masksOfLetter } from '../core/dead-letter/event-masks.ts'
import { groupingOf } from '../core/dead-letter/group.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import { maskEvent } from '../core/dead-letter/mask-letter.ts'
import type { Masks } from '../core/dead-letter/masks.ts'

type Cell = string | number | undefined

/** A spreadsheet takes a text that begins with one of these for a formula, and runs it. Some skip spaces, or read full-width signs alike. */
const FORMULA = /^(?:[\t\r\n]|\s*[=+\-@＝＋－＠])/
const QUOTED = /[",\r\n]/

const COLUMNS: readonly (readonly [
  name: string,
  cell: (letter: DeadLetter, own: Masks, event: Readonly<Record<string, unknown>>) => Cell,
])[] = [
  ['id', ({ id }) => id],
  ['channel', ({ channel }) => channel],
  ['handler', ({ handler }) => handler],
  ['state', ({ state }) => state],
  ['reason', ({ cycle }) => cycle.reason],
  ['category', ({ cycle }) => cycle.category],
  ['group', letter => groupingOf(letter).id],
  ['eventId', ({ event }) => event.id],
  ['type', ({ event }) => event.type],
  ['key', ({ event }, own) => event.key && own.maskText(event.key)],
  ['errorName', ({ cycle: { failure } }, own) => failure && own.maskText(failure.name)],
  ['errorMessage', ({ cycle: { failure } }, own) => failure && own.maskText(failure.message)],
  ['errorCode', ({ cycle: { failure } }, own) => failure?.code && own.maskText(failure.code)],
  ['attempts', ({ cycle }) => cycle.attemptCount],
  ['replays', ({ replays }) => replays],
  ['firstFailedAt', ({ cycle }) => new Date(cycle.firstFailedAt).toISOString()],
  ['lastFailedAt', ({ cycle }) => new Date(cycle.lastFailedAt).toISOString()],
  ['release', ({ release }) => release],
  ['host', ({ host }) => host],
  ['headers', (_, __, event) => JSON.stringify(event['headers'] ?? null)],
  ['payload', (_, __, event) => JSON.stringify(event['payload'] ?? null)],
]

/** The first line of a CSV file of letters. */
export const CSV_HEADER = lineOf(COLUMNS.map(([name]) => name))

/** A letter as one line of CSV (RFC 4180), masked. */
export function letterCsv(letter: DeadLetter, masks: Masks): string {
  const own = masksOfLetter(letter, masks)
  const event = maskEvent(letter.event, masks, own)
  return lineOf(COLUMNS.map(([, cell]) => cell(letter, own, event)))
}

function lineOf(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

/** A cell in quotes where it needs them. Texts that a spreadsheet would run get an apostrophe; numbers stay numbers. */
export function csvCell(value: Cell): string {
  if (value === undefined) return ''
  if (typeof value === 'number') return String(value)
  const harmless = FORMULA.test(value) ? `'${value}` : value
  return QUOTED.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
