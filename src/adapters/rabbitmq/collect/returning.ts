import type { Origin } from '../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { isBytes } from '../../../core/event/plain.ts'
import { REPLAY_HEADERS } from '../../../core/event/replay-headers.ts'
import type { Outgoing } from '../link/confirms.ts'
import type { Route } from '../options.ts'
import { queueName } from '../topology/names.ts'
import { encodeEvent } from '../wire/encode.ts'
import { leavingRoom } from '../wire/headers.ts'
import { returnedProperties } from './kept.ts'

/** The message of an event that goes back to where it came from, or, redirected, to the queue its channel names. */
export function returned(event: LazaretEvent, origin: Origin, returnTo: 'exchange' | 'queue'): Outgoing {
  const handler = event.headers[REPLAY_HEADERS.handler]
  const isOwn = origin['writtenBy'] === undefined
  if (isOwn) {
    const queue = handler === undefined ? event.channel : queueName(event.channel, handler)
    return { ...encodeEvent(event), route: { exchange: '', routingKey: queue } }
  }
  return {
    route: handler === undefined ? { exchange: '', routingKey: event.channel } : wayBack(origin, returnTo),
    content: contentOf(event, origin),
    properties: withRoom(returnedProperties(origin, event.headers)),
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

function withRoom(properties: Outgoing['properties']): Outgoing['properties'] {
  return { ...properties, headers: leavingRoom({ ...properties.headers }) }
}
