import { letterFromJson } from '../../../core/dead-letter/json.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { encodeBase64 } from '../../../core/event/base64.ts'
import { eventToJson } from '../../../core/event/json.ts'
import { decode, type EventRecord } from '../broker/wire/event-codec.ts'
import { headerText, OWN } from '../broker/wire/headers.ts'

/** Reads a letter of Lazaret from a dead-letter topic; undefined for a record of another program. */
export function readLetter(record: EventRecord): DeadLetter | undefined {
  const text = headerText(record.headers, OWN.letter)
  if (text === undefined) return undefined
  const { standIn, ...rest } = JSON.parse(text)
  const content = decode(record, rest.channel, rest.origin)
  const event =
    'raw' in content ? { ...standIn, payloadBase64: encodeBase64(content.raw) } : eventToJson(content)
  return letterFromJson({ ...rest, event })
}
