import type { LazaretEvent } from '../../../core/event/event.ts'
import { isBytes } from '../../../core/event/plain.ts'
import { type Severity, severityOf } from '../severity.ts'
import { visible } from './visible.ts'

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

/** One event on one line for a person: time, severity, type, where it belongs, payload. */
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
