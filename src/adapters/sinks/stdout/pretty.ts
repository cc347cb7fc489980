import type { LazaretEvent } from '../../../core/event/event.ts'
import { isBytes } from '../../../core/event/plain.ts'
import { type Severity, severityOf } from '../severity.ts'

const RESET = '\u001b[0m'
const DIM = '\u001b[2m'

const COLOURS: Readonly<Record<Severity, string>> = {
  trace: DIM,
  debug: '\u001b[36m',
  info: '\u001b[32m',
  warn: '\u001b[33m',
  error: '\u001b[31m',
  fatal: '\u001b[1;37;41m',
}

const SEVERITY_WIDTH = 5

/** One event on one line for a person: time, severity, type, channel and key, payload. */
export function prettyLine(event: LazaretEvent, isColoured: boolean): string {
  const severity = severityOf(event)
  const paint = (colour: string, text: string) => (isColoured ? `${colour}${text}${RESET}` : text)
  const parts = [
    paint(DIM, new Date(event.occurredAt).toISOString()),
    paint(COLOURS[severity], severity.toUpperCase().padEnd(SEVERITY_WIDTH)),
    visible(event.type),
    paint(DIM, visible(placeOf(event))),
    visible(payloadText(event.payload)),
  ]
  return `${parts.filter(part => part !== '').join(' ')}\n`
}

function placeOf({ channel, key }: LazaretEvent): string {
  return key === undefined ? channel : `${channel}/${key}`
}

function payloadText(payload: unknown): string {
  if (payload === null) return ''
  return isBytes(payload) ? `${payload.length} bytes` : JSON.stringify(payload)
}

/**
 * Characters that a terminal or a reader would obey or hide: controls (U+009B alone starts an escape sequence),
 * directions of writing that reverse a line, zero-width spaces, separators of lines and paragraphs.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** The text with everything that is not shown as itself written as an escape. Within JSON it means the same. */
export function visible(text: string): string {
  return text.toWellFormed().replace(INVISIBLE, escaped)
}

function escaped(unseen: string): string {
  const units = Array.from({ length: unseen.length }, (_, at) => unseen.charCodeAt(at))
  return units.map(unit => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
}
