import { nextTick } from 'node:process'
import type { Outgoing } from '../broker/wire/event-codec.ts'
import { headerBytes } from '../broker/wire/headers.ts'
import { WireValue } from '../broker/wire/table.ts'
import { HeadersTooLargeError } from '../errors.ts'
import type { AmqpConfirmChannel, AmqpHeaders, AmqpProperties } from './amqp.ts'
import { type DirectChannel, directChannel } from './amqplib-internals.ts'
import { Frames, MAX_SHORT_STRING_BYTES } from './frames.ts'

const CAPACITY = 65_536
const LATEST_SECOND = 2 ** 53

/**
 * Publishes the messages of one turn with one write. If the client does not expose the needed parts, or a message is
 * unusual, it publishes them one by one.
 */
export class FrameWriter {
  readonly #channel: AmqpConfirmChannel
  readonly #direct: DirectChannel | undefined
  readonly #onFull: () => void
  readonly #frames = new Frames(CAPACITY)

  /** `full` is called when the socket accepts no more for the moment. */
  constructor(channel: AmqpConfirmChannel, full: () => void) {
    this.#channel = channel
    this.#direct = directChannel(channel, CAPACITY)
    this.#onFull = full
  }

  publish(message: Outgoing, confirmed: (error: unknown) => void): void {
    const direct = this.#direct
    if (direct !== undefined && (this.#add(direct, message) || this.#writeWhole(direct, message)))
      direct.awaitConfirm(confirmed)
    else this.#publishAlone(withoutWireValues(message), confirmed)
  }

  #add(direct: DirectChannel, message: Outgoing): boolean {
    const wasEmpty = this.#frames.isEmpty
    if (!this.#frames.add(direct.number, message)) {
      if (wasEmpty) return false
      // The message may fit into an empty buffer. If not, the earlier messages are sent before it.
      this.#flush(direct)
      return this.#add(direct, message)
    }
    if (wasEmpty) nextTick(() => this.#flush(direct))
    return true
  }

  /** Headers that the client cannot write as they were, or not at all: it has 64 KiB for them, and the server takes a frame. */
  #writeWhole(direct: DirectChannel, message: Outgoing): boolean {
    const { headers } = message.properties
    if (headers === undefined) return false
    const bytes = headerBytes(headers)
    if (bytes < CAPACITY / 2 && !hasWireValues(headers)) return false
    const whole = Frames.alone(direct.number, message, direct.frameMax)
    if (whole === undefined) {
      if (bytes > CAPACITY) throw new HeadersTooLargeError(bytes, direct.frameMax)
      return false
    }
    this.#flush(direct)
    if (!direct.write(whole)) this.#onFull()
    return true
  }

  /**
   * Other programs write properties that the client can read but not write. Without them the message can be sent; with
   * them, it cannot.
   */
  #publishAlone({ route, content, properties }: Outgoing, confirmed: (error: unknown) => void): void {
    const { exchange, routingKey } = route
    const publish = (options: AmqpProperties) => {
      const hasRoom = this.#channel.publish(
        exchange,
        routingKey,
        content,
        { ...options, mandatory: true },
        confirmed,
      )
      if (!hasRoom) this.#onFull()
    }
    try {
      publish(properties)
    } catch (error) {
      if (!(error instanceof TypeError || error instanceof RangeError)) throw error
      publish(withSimpleProperties(properties))
    }
  }

  #flush(direct: DirectChannel): void {
    if (!this.#frames.isEmpty && !direct.write(this.#frames.take())) this.#onFull()
  }
}

function hasWireValues(headers: AmqpHeaders): boolean {
  return Object.values(headers).some(value => value instanceof WireValue)
}

/** Prepares a message for the client, which writes the values that it has read as well as it can. */
function withoutWireValues(message: Outgoing): Outgoing {
  const { headers } = message.properties
  if (headers === undefined || !hasWireValues(headers)) return message
  const decoded = Object.entries(headers).map(([name, value]) => [
    name,
    value instanceof WireValue ? value.decoded : value,
  ])
  return { ...message, properties: { ...message.properties, headers: Object.fromEntries(decoded) } }
}

/**
 * Keeps the properties that every client can write: short texts, a valid time, and headers that are texts, booleans or
 * integers.
 */
function withSimpleProperties(properties: AmqpProperties): AmqpProperties {
  const { contentType, contentEncoding, correlationId, replyTo, messageId, type, appId } = properties
  const { timestamp, headers, deliveryMode } = properties
  const texts = { contentType, contentEncoding, correlationId, replyTo, messageId, type, appId }
  const short = Object.entries(texts).filter(([, text]) => text !== undefined && isShort(text))
  return {
    ...Object.fromEntries(short),
    timestamp: timestamp !== undefined && timestamp >= 0 && timestamp < LATEST_SECOND ? timestamp : undefined,
    headers: headers === undefined ? undefined : simpleHeaders(headers),
    deliveryMode,
  }
}

function isShort(text: string): boolean {
  return Buffer.byteLength(text) <= MAX_SHORT_STRING_BYTES
}

function simpleHeaders(headers: AmqpHeaders): AmqpHeaders {
  const plain = Object.entries(headers).filter(
    ([name, value]) =>
      isShort(name) &&
      (typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value)),
  )
  return Object.fromEntries(plain)
}
