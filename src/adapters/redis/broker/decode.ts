import { undecodable } from '../../../adapter-kit/wire/content.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { MAX_TYPE_BYTES } from '../../../core/event/limits.ts'
import { cleanTextBytes } from '../../../core/event/text.ts'
import type { Undecodable } from '../../../ports/broker.ts'
import type { EventCodec } from '../../../ports/codec.ts'
import { fieldOf, sentFields } from './entry.ts'

/** The field that an event is written in. */
const EVENT_FIELD = 'event'
const UNNAMED = 'message'

/** The origin of an entry, and the codec of its event. */
interface EntrySource {
  readonly channel: string
  /** The id that the entry had at first. */
  readonly from: string
  readonly codec: EventCodec
}

/** The event of an entry, no matter which program added it, or the whole entry with its fault. */
export function decode(fields: readonly string[], source: EntrySource): LazaretEvent | Undecodable {
  const sent = sentFields(fields)
  const text = fieldOf(sent, EVENT_FIELD)
  if (text === undefined) return foreignEvent(sent, source)
  try {
    return source.codec.decode(text)
  } catch (error) {
    return undecodable(Buffer.from(text), error)
  }
}

/** Decodes an entry that is not UTF-8. Its raw bytes are those of the event, or all names and values if it has no event. */
export function decodeBytes(fields: readonly Buffer[], source: EntrySource): LazaretEvent | Undecodable {
  const texts = fields.map(String)
  if (fields.every((field, at) => field.equals(Buffer.from(texts[at]!)))) return decode(texts, source)
  const at = texts.indexOf(EVENT_FIELD)
  const raw =
    at === -1
      ? Buffer.concat(fields.flatMap((field, at) => [field, at % 2 === 0 ? EQUALS : NEW_LINE]))
      : fields[at + 1]!
  return { raw: new Uint8Array(raw), problem: 'it is not valid UTF-8' }
}

const EQUALS = Buffer.from('=')
const NEW_LINE = Buffer.from('\n')

/**
 * Makes an event of what another program added: its fields are the payload. Its id and time are those of the entry, so
 * they are the same at each delivery.
 */
function foreignEvent(
  fields: readonly string[],
  { channel, from, codec }: EntrySource,
): LazaretEvent | Undecodable {
  const payload: Record<string, string> = Object.create(null)
  for (let at = 0; at + 1 < fields.length; at += 2) payload[fields[at]!] = fields[at + 1]!
  const type = payload['type']
  const id = `redis-${channel}-${from}`
  const event: LazaretEvent = {
    v: 1,
    id,
    type: type !== undefined && isFitting(type) ? type : UNNAMED,
    channel,
    key: undefined,
    idempotencyKey: id,
    occurredAt: Number(from.split('-', 1)[0]),
    expiresAt: undefined,
    source: undefined,
    headers: {},
    payload: { ...payload },
  }
  try {
    // A value that cannot be written again could not be kept in a letter either.
    return codec.decode(codec.encode(event))
  } catch (error) {
    return undecodable(Buffer.from(JSON.stringify(payload)), error)
  }
}

function isFitting(type: string): boolean {
  const bytes = cleanTextBytes(type)
  return type !== '' && bytes !== undefined && bytes <= MAX_TYPE_BYTES
}
