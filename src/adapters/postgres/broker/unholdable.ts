import { EventError } from '../../../core/event/errors.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import type { Fault } from '../../../core/options/faults.ts'
import { show } from '../../../core/options/show.ts'

/** How JSON writes NUL and halves of surrogate pairs. A backslash before it may be one that is itself escaped. */
const SUSPICIOUS = /\\u(?:0000|d[89a-f])/
const FAULTS_MAX = 20

/**
 * Refuses a payload that Postgres could store as text but not work with: `payload ->> 'name'` fails on NUL and on half a
 * surrogate pair. `json` is the payload's text, which tells at once that nearly every payload is fine.
 */
export function requireHoldable(event: LazaretEvent, json: string): void {
  if (!SUSPICIOUS.test(json)) return
  const faults: Fault[] = []
  visit(event.payload, 'payload', faults)
  if (faults.length > 0) throw new EventError(`event ${show(event.id)}`, faults)
}

function visit(value: unknown, path: string, faults: Fault[]): void {
  if (faults.length >= FAULTS_MAX) return
  if (typeof value === 'string') look(value, path, faults)
  else if (typeof value === 'object' && value !== null)
    for (const [name, member] of Object.entries(value)) {
      look(name, `a name in ${path}`, faults)
      visit(member, Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`, faults)
    }
}

function look(text: string, path: string, faults: Fault[]): void {
  const remedy = 'remove it, or send the payload as bytes'
  if (text.includes('\0'))
    faults.push({ path, received: 'a text with a NUL character, which Postgres cannot hold', remedy })
  else if (!text.isWellFormed())
    faults.push({ path, received: 'a text with half a surrogate pair, which Postgres cannot hold', remedy })
}
