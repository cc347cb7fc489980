import type { AmqpHeaders, AmqpProperties } from '../../connection/amqp.ts'

/** In bytes: AMQP writes the length of a name or property into one. */
export const LONGEST_SHORT_TEXT = 255
const LATEST_SECOND = 2 ** 53

/** What every client can write: short texts that are short, a time there can be, and headers that are texts, flags or counts. */
export function reduced(properties: AmqpProperties): AmqpProperties {
  const { contentType, contentEncoding, correlationId, replyTo, messageId, type, appId } = properties
  const { timestamp, headers, deliveryMode } = properties
  return {
    contentType: shortText(contentType),
    contentEncoding: shortText(contentEncoding),
    correlationId: shortText(correlationId),
    replyTo: shortText(replyTo),
    messageId: shortText(messageId),
    type: shortText(type),
    appId: shortText(appId),
    timestamp: timestamp !== undefined && timestamp >= 0 && timestamp < LATEST_SECOND ? timestamp : undefined,
    headers: headers === undefined ? undefined : plainOnes(headers),
    deliveryMode,
  }
}

function shortText(text: string | undefined): string | undefined {
  return text !== undefined && Buffer.byteLength(text) <= LONGEST_SHORT_TEXT ? text : undefined
}

function plainOnes(headers: AmqpHeaders): AmqpHeaders {
  const plain = Object.entries(headers).filter(
    ([name, value]) =>
      Buffer.byteLength(name) <= LONGEST_SHORT_TEXT &&
      (typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value)),
  )
  return Object.fromEntries(plain)
}
