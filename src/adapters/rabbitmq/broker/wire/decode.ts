import type { Origin } from '../../../../core/dead-letter/letter.ts'
import { checkEvent } from '../../../../core/event/check.ts'
import { fromCloudEvent } from '../../../../core/event/cloudevents.ts'
import { EventError } from '../../../../core/event/errors.ts'
import type { LazaretEvent } from '../../../../core/event/event.ts'
import { WIDEST_EVENT_LIMITS } from '../../../../core/event/limits.ts'
import { isPlainObject } from '../../../../core/event/plain.ts'
import { uuidv7Time } from '../../../../core/event/uuid.ts'
import type { Undecodable } from '../../../../ports/broker.ts'
import type { AmqpMessage } from '../../connection/amqp.ts'
import { APP_ID, BYTES_TYPE } from './encode.ts'
import { foreignEvent, headersOf, readJson } from './foreign.ts'
import { OWN, textOf, timeOf } from './headers.ts'

/** The event a message tells of, whoever sent it, or the message whole with what is wrong with it. */
export function decode(message: AmqpMessage, channel: string, origin: Origin): LazaretEvent | Undecodable {
  try {
    const event = read(message, channel, origin)
    const faults = checkEvent(event, WIDEST_EVENT_LIMITS)
    if (faults.length > 0) throw new EventError('message', faults)
    return event
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    return { raw: new Uint8Array(message.content), problem }
  }
}

function read(message: AmqpMessage, channel: string, origin: Origin): LazaretEvent {
  const { properties, content } = message
  if (properties.appId === APP_ID) return ownEvent(message, channel)
  if (properties.contentType?.startsWith('application/cloudevents+json')) {
    const occurredAt = (properties.timestamp ?? 0) * 1_000
    return fromCloudEvent(readJson(content), { channel, occurredAt, limits: WIDEST_EVENT_LIMITS })
  }
  return foreignEvent(message, channel, origin)
}

function ownEvent({ properties, content }: AmqpMessage, channel: string): LazaretEvent {
  const headers = properties.headers ?? {}
  const id = properties.messageId as string
  const packed = textOf(headers[OWN.packed])
  return {
    v: 1,
    id,
    type: properties.type as string,
    channel: textOf(headers[OWN.channel]) ?? channel,
    key: textOf(headers[OWN.key]),
    idempotencyKey: textOf(headers[OWN.idempotencyKey]) ?? id,
    occurredAt: (timeOf(headers[OWN.occurredAt]) ?? uuidv7Time(id)) as number,
    expiresAt: timeOf(headers[OWN.expiresAt]),
    source: textOf(headers[OWN.source]),
    headers: { ...headersOf(headers), ...(packed === undefined ? undefined : unpacked(packed)) },
    payload: properties.contentType === BYTES_TYPE ? new Uint8Array(content) : readJson(content),
  }
}

function unpacked(text: string): Record<string, string> {
  const value: unknown = JSON.parse(text)
  return isPlainObject(value) ? (value as Record<string, string>) : {}
}
