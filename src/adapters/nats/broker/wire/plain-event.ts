import { readJson } from '../../../../adapter-kit/wire/content.ts'
import { TimeTextReader } from '../../../../adapter-kit/wire/time-text.ts'
import { checkEvent } from '../../../../core/event/check.ts'
import { unescaped } from '../../../../core/event/cloudevents-binary.ts'
import type { LazaretEvent } from '../../../../core/event/event.ts'
import { withExactNumbers } from '../../../../core/event/exact-numbers.ts'
import { WIDEST_EVENT_LIMITS } from '../../../../core/event/limits.ts'
import { parseJson } from '../../../../core/event/parse-json.ts'
import { sourceAndId } from '../../../../core/event/source-and-id.ts'
import { CLOUD_EVENT_PREFIX, CONTENT_TYPE, canBeOfEvent, isReserved, OWN } from './headers.ts'
import type { EventMessage } from './message.ts'
import type { OwnFields } from './own-fields.ts'

const TIMES = new TimeTextReader()

/**
 * Most messages are CloudEvents with the same few attributes and JSON, written by Lazaret or not. They are read here, because the
 * way of all others costs several times as much. Undefined for the others, and for one that could be wrong: then the other way says
 * what is wrong with it.
 */
export function plainEvent(message: EventMessage, channel: string): LazaretEvent | undefined {
  try {
    const event = read(message, channel)
    if (event === undefined) return undefined
    return checkEvent(event, WIDEST_EVENT_LIMITS, { channel }).length === 0 ? event : undefined
  } catch {
    return undefined
  }
}

function read({ data, headers: all }: EventMessage, channel: string): LazaretEvent | undefined {
  let version: string | undefined
  let id: string | undefined
  let type: string | undefined
  let source: string | undefined
  let time: string | undefined
  let key: string | undefined
  let contentType: string | undefined
  let own: OwnFields | undefined
  const headers: Record<string, string> = {}
  for (const [name, text] of all)
    switch (name) {
      case 'ce-specversion':
        version = text
        break
      case 'ce-id':
        id = unescaped(text)
        break
      case 'ce-type':
        type = unescaped(text)
        break
      case 'ce-source':
        source = unescaped(text)
        break
      case 'ce-time':
        time = text
        break
      case 'ce-partitionkey':
        key = unescaped(text)
        break
      case CONTENT_TYPE:
        contentType = text
        break
      case OWN.event:
        own = parseJson(text) as OwnFields
        break
      default:
        if (isAttribute(name)) return undefined
        if (!isReserved(name) && canBeOfEvent(name, text)) headers[name] = text
    }
  if (id === undefined || type === undefined || source === undefined || time === undefined) return undefined
  if (version !== '1.0' || contentType !== 'application/json') return undefined
  // A time in another form is kept as it was written.
  const occurredAt = TIMES.read(time)
  if (occurredAt === undefined || data.length === 0 || own?.headers !== undefined) return undefined
  const event: LazaretEvent = {
    v: 1,
    id,
    type,
    channel: own?.channel ?? channel,
    key,
    idempotencyKey: own === undefined ? sourceAndId(source, id) : (own.idempotencyKey ?? id),
    occurredAt,
    expiresAt: own?.expiresAt,
    source: own?.hasNoSource === true ? undefined : source,
    headers,
    payload: readJson(data),
  }
  return own === undefined ? withExactNumbers(event, data) : event
}

/** An attribute that is not read here, or one whose name has capitals. */
function isAttribute(name: string): boolean {
  const lower = name.toLowerCase()
  return lower.startsWith(CLOUD_EVENT_PREFIX) || lower === CONTENT_TYPE
}
