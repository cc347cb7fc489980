import type { Outgoing } from '../broker/wire/event-codec.ts'
import { WireValue } from '../broker/wire/table.ts'
import type { AmqpHeaders, AmqpProperties } from './amqp.ts'

/** The limit in bytes: AMQP writes the length of a name or property into one byte. */
export const MAX_SHORT_STRING_BYTES = 255

// AMQP 0-9-1: a message is published as three frames, of its method, of its properties and of its body.
const METHOD_FRAME = 1
const HEADER_FRAME = 2
const BODY_FRAME = 3
const FRAME_END = 0xce
const FRAME_HEAD_BYTES = 7
const FRAME_END_BYTES = 1
const CLASS_BASIC = 60
const METHOD_PUBLISH = 40
const MANDATORY = 1
/** An upper bound of everything except texts and body. */
const FIXED_BYTES = 256
const HEADER_FIXED_BYTES = 16
const MAX_BYTES_PER_CHARACTER = 3
const MAX_PRIORITY = 255

const HAS = {
  contentType: 1 << 15,
  contentEncoding: 1 << 14,
  headers: 1 << 13,
  deliveryMode: 1 << 12,
  priority: 1 << 11,
  correlationId: 1 << 10,
  replyTo: 1 << 9,
  messageId: 1 << 7,
  timestamp: 1 << 6,
  type: 1 << 5,
  appId: 1 << 3,
}

/**
 * Writes messages one after the other into one piece of memory. The client makes six pieces of each, which costs more than
 * all the rest of publishing. Unusual messages are left to the client.
 */
export class Frames {
  readonly #bytes: Buffer
  readonly #mostOfFrame: number
  #end = 0
  /** The flags of the properties being written. */
  #flags = 0

  /** No frame is larger than `frameMax`; a body that is takes several. */
  constructor(capacity: number, frameMax = capacity) {
    this.#bytes = Buffer.allocUnsafe(capacity)
    this.#mostOfFrame = frameMax - FRAME_HEAD_BYTES - FRAME_END_BYTES
  }

  /** A frame for one message that does not fit into the shared buffer; undefined if its headers do not fit into a frame. */
  static alone(channel: number, message: Outgoing, frameMax: number): Buffer | undefined {
    const mostBytes = mostBytesOf(message)
    if (mostBytes === undefined) return undefined
    const bodyFrames = 1 + Math.ceil(message.content.length / (frameMax - FRAME_HEAD_BYTES - FRAME_END_BYTES))
    const heads = bodyFrames * (FRAME_HEAD_BYTES + FRAME_END_BYTES)
    const frames = new Frames(mostBytes + heads, frameMax)
    return frames.add(channel, message) ? frames.take() : undefined
  }

  get isEmpty(): boolean {
    return this.#end === 0
  }

  /** Returns false and writes nothing if the message is unusual, or the buffer has no room. */
  add(channel: number, message: Outgoing): boolean {
    const mostBytes = mostBytesOf(message)
    if (mostBytes === undefined || this.#end + mostBytes > this.#bytes.length) return false
    const start = this.#end
    let isWritten = false
    try {
      isWritten = this.#write(channel, message)
    } finally {
      // Half a message would be sent with the next one.
      if (!isWritten) this.#end = start
    }
    return isWritten
  }

  /** Returns the written bytes, and clears the buffer. */
  take(): Buffer {
    const taken = Buffer.from(this.#bytes.subarray(0, this.#end))
    this.#end = 0
    return taken
  }

  #write(channel: number, { route, content, properties }: Outgoing): boolean {
    let start = this.#open(METHOD_FRAME, channel)
    this.#u16(CLASS_BASIC)
    this.#u16(METHOD_PUBLISH)
    this.#u16(0)
    if (!this.#short(route.exchange) || !this.#short(route.routingKey)) return false
    this.#u8(MANDATORY)
    this.#close(start)

    start = this.#open(HEADER_FRAME, channel)
    this.#u16(CLASS_BASIC)
    this.#u16(0)
    this.#u64(content.length)
    if (!this.#properties(properties)) return false
    if (this.#end - start - FRAME_HEAD_BYTES > this.#mostOfFrame) return false
    this.#close(start)

    for (let at = 0; at < content.length; at += this.#mostOfFrame) {
      start = this.#open(BODY_FRAME, channel)
      this.#end += content.copy(this.#bytes, this.#end, at, at + this.#mostOfFrame)
      this.#close(start)
    }
    return true
  }

  /** Writes the properties in the order of their flags. The flags come before them and are known only afterwards. */
  #properties(properties: AmqpProperties): boolean {
    const { contentType, contentEncoding, headers, deliveryMode, priority } = properties
    const { correlationId, replyTo, messageId, timestamp, type, appId } = properties
    const flagsAt = this.#end
    this.#end += 2
    this.#flags = HAS.deliveryMode
    if (!this.#text(contentType, HAS.contentType)) return false
    if (!this.#text(contentEncoding, HAS.contentEncoding)) return false
    if (headers !== undefined && !this.#table(headers)) return false
    this.#u8(deliveryMode as number)
    if (priority !== undefined) {
      this.#flags |= HAS.priority
      this.#u8(priority)
    }
    if (!this.#text(correlationId, HAS.correlationId) || !this.#text(replyTo, HAS.replyTo)) return false
    if (!this.#text(messageId, HAS.messageId)) return false
    if (timestamp !== undefined) {
      this.#flags |= HAS.timestamp
      this.#u64(timestamp)
    }
    if (!this.#text(type, HAS.type) || !this.#text(appId, HAS.appId)) return false
    this.#bytes.writeUInt16BE(this.#flags, flagsAt)
    return true
  }

  #text(text: string | undefined, flag: number): boolean {
    if (text === undefined) return true
    this.#flags |= flag
    return this.#short(text)
  }

  #table(headers: AmqpHeaders): boolean {
    this.#flags |= HAS.headers
    const lengthAt = this.#end
    this.#end += 4
    for (const name in headers) {
      const value = headers[name]
      if (value === undefined) continue
      if (!this.#short(name)) return false
      if (typeof value === 'string') this.#long(value)
      else if (value instanceof WireValue) this.#end += value.bytes.copy(this.#bytes, this.#end)
      else if (typeof value === 'boolean') {
        this.#u8(T)
        this.#u8(value ? 1 : 0)
      } else {
        this.#u8(I)
        this.#end = this.#bytes.writeInt32BE(value as number, this.#end)
      }
    }
    this.#bytes.writeUInt32BE(this.#end - lengthAt - 4, lengthAt)
    return true
  }

  #open(type: number, channel: number): number {
    const start = this.#end
    this.#u8(type)
    this.#u16(channel)
    this.#end += 4
    return start
  }

  #close(start: number): void {
    this.#bytes.writeUInt32BE(this.#end - start - FRAME_HEAD_BYTES, start + 3)
    this.#u8(FRAME_END)
  }

  #short(text: string): boolean {
    const length = this.#bytes.write(text, this.#end + 1)
    if (length > MAX_SHORT_STRING_BYTES) return false
    this.#bytes[this.#end] = length
    this.#end += length + 1
    return true
  }

  #long(text: string): void {
    this.#u8(S)
    const length = this.#bytes.write(text, this.#end + 4)
    this.#bytes.writeUInt32BE(length, this.#end)
    this.#end += length + 4
  }

  #u8(value: number): void {
    this.#bytes[this.#end++] = value
  }

  #u16(value: number): void {
    this.#bytes[this.#end++] = value >>> 8
    this.#bytes[this.#end++] = value
  }

  #u64(value: number): void {
    this.#bytes.writeUInt32BE(Math.floor(value / 2 ** 32), this.#end)
    this.#bytes.writeUInt32BE(value >>> 0, this.#end + 4)
    this.#end += 8
  }
}

const S = 'S'.charCodeAt(0)
const T = 't'.charCodeAt(0)
const I = 'I'.charCodeAt(0)

/** An upper bound of the size, without further frames of the body; undefined for messages that are not written here. */
function mostBytesOf({ route, content, properties }: Outgoing): number | undefined {
  const { contentType, contentEncoding, headers, deliveryMode, priority, expiration } = properties
  const { correlationId, replyTo, messageId, timestamp, type, appId, userId } = properties
  if (typeof deliveryMode !== 'number') return undefined
  if (expiration !== undefined || userId !== undefined) return undefined
  if (priority !== undefined && !(priority >= 0 && priority <= MAX_PRIORITY && Number.isInteger(priority)))
    return undefined
  if (timestamp !== undefined && !(timestamp >= 0 && Number.isSafeInteger(timestamp))) return undefined
  const characters =
    route.exchange.length +
    route.routingKey.length +
    lengthOf(contentType) +
    lengthOf(contentEncoding) +
    lengthOf(correlationId) +
    lengthOf(replyTo) +
    lengthOf(messageId) +
    lengthOf(type) +
    lengthOf(appId)
  const ofHeaders = headers === undefined ? 0 : mostHeaderBytes(headers)
  if (ofHeaders === undefined) return undefined
  return FIXED_BYTES + MAX_BYTES_PER_CHARACTER * characters + ofHeaders + content.length
}

function mostHeaderBytes(headers: AmqpHeaders): number | undefined {
  let bytes = 0
  for (const name in headers) {
    const value = headers[name]
    let characters = name.length
    if (typeof value === 'string') characters += value.length
    else if (value instanceof WireValue) bytes += value.bytes.length
    else if (typeof value === 'number') {
      if ((value | 0) !== value) return undefined
    } else if (typeof value !== 'boolean' && value !== undefined) return undefined
    bytes += HEADER_FIXED_BYTES + MAX_BYTES_PER_CHARACTER * characters
  }
  return bytes
}

function lengthOf(text: string | undefined): number {
  return text === undefined ? 0 : text.length
}
