import type { Origin } from '../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { isBytes } from '../../../core/event/plain.ts'
import { replayOf } from '../../../core/event/replay-headers.ts'
import { queueName } from '../broker/topology/names.ts'
import type { Outgoing } from '../broker/wire/event-codec.ts'
import { encodeEvent } from '../broker/wire/event-codec.ts'
import { headerBytes } from '../broker/wire/headers.ts'
import { HeadersTooLargeError } from '../errors.ts'
import type { Route } from '../options.ts'
import { returnedProperties } from './kept.ts'
import { MOST_RETURNED_BYTES } from './kept-headers.ts'

/** With what a replay adds. */
const MOST_SENT_BYTES = MOST_RETURNED_BYTES + 4_000

/** The message of an event that goes back to where it came from, or, redirected, to the queue its channel names. */
export function returned(event: LazaretEvent, origin: Origin, returnTo: 'exchange' | 'queue'): Outgoing {
  const handler = replayOf(event)?.handler
  const isOwn = origin['writtenBy'] === undefined
  if (isOwn) {
    const queue = handler === undefined ? event.channel : queueName(event.channel, handler)
    return { ...encodeEvent(event, ''), route: { exchange: '', routingKey: queue } }
  }
  return {
    route: handler === undefined ? { exchange: '', routingKey: event.channel } : wayBack(origin, returnTo),
    content: contentOf(event, origin),
    // Without an id of its own a message could not be told to be this replay, and not a message that copied its headers.
    properties: requireRoom({ ...returnedProperties(origin, event.headers), messageId: event.id }),
  }
}

function wayBack(
  { exchange = '', routingKey = '', queue = '' }: Origin,
  returnTo: 'exchange' | 'queue',
): Route {
  return returnTo === 'queue' ? { exchange: '', routingKey: queue } : { exchange, routingKey }
}

/** Text is text to whoever sent it as such; everything else that is not bytes was JSON. */
function contentOf({ payload }: LazaretEvent, origin: Origin): Buffer {
  if (isBytes(payload)) return Buffer.from(payload)
  const { contentType } = origin
  const isText =
    typeof payload === 'string' && typeof contentType === 'string' && /^text\//i.test(contentType)
  return Buffer.from(isText ? payload : JSON.stringify(payload))
}

/** Nothing is left out in silence: what no frame takes is refused. */
function requireRoom(properties: Outgoing['properties']): Outgoing['properties'] {
  const bytes = headerBytes(properties.headers ?? {})
  if (bytes > MOST_SENT_BYTES) throw new HeadersTooLargeError(bytes, MOST_SENT_BYTES)
  return properties
}
