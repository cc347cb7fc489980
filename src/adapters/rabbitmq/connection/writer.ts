import { nextTick } from 'node:process'
import { headerBytes } from '../broker/wire/headers.ts'
import { reduced } from '../broker/wire/reduced.ts'
import { WireValue } from '../broker/wire/table.ts'
import { HeadersTooLargeError } from '../errors.ts'
import type { AmqpConfirmChannel, AmqpHeaders, AmqpProperties } from './amqp.ts'
import type { Outgoing } from './batch.ts'
import { Frames } from './frames.ts'

const CAPACITY = 65_536

/** What is used of the client's channel beyond what it promises. */
interface Inner {
  readonly ch: number
  readonly connection: {
    readonly frameMax: number
    readonly channels: readonly ({ readonly buffer?: { write(bytes: Buffer): boolean } } | undefined)[]
    sentSinceLastCheck: boolean
  }
  pushConfirmCallback(confirmed: (error: unknown) => void): void
}

/**
 * Publishes what comes in one go in one go. Where the client does not show what is needed for that, or a message is out of the
 * ordinary, it publishes them one by one.
 */
export class Writer {
  readonly #channel: AmqpConfirmChannel
  readonly #inner: Inner | undefined
  readonly #full: () => void
  readonly #frames = new Frames(CAPACITY)

  /** Full: the socket takes no more for the moment. */
  constructor(channel: AmqpConfirmChannel, full: () => void) {
    this.#channel = channel
    this.#inner = isInner(channel) ? channel : undefined
    this.#full = full
  }

  publish(message: Outgoing, confirmed: (error: unknown) => void): void {
    const inner = this.#inner
    if (inner !== undefined && (this.#add(inner, message) || this.#writeWhole(inner, message)))
      inner.pushConfirmCallback(confirmed)
    else this.#publishAlone(withoutWireValues(message), confirmed)
  }

  #add(inner: Inner, message: Outgoing): boolean {
    const wasEmpty = this.#frames.isEmpty
    if (!this.#frames.add(inner.ch, message)) {
      if (wasEmpty) return false
      // It may fit when it is the first; and if not, those before it have left before it.
      this.#flush(inner)
      return this.#add(inner, message)
    }
    if (wasEmpty) nextTick(() => this.#flush(inner))
    return true
  }

  /** Headers that the client cannot write as they were, or not at all: it has 64 KiB for them, and the server takes a frame. */
  #writeWhole({ connection, ch }: Inner, message: Outgoing): boolean {
    const { headers } = message.properties
    if (headers === undefined) return false
    const bytes = headerBytes(headers)
    if (bytes < CAPACITY / 2 && !hasWireValues(headers)) return false
    const whole = Frames.alone(ch, message, connection.frameMax)
    if (whole === undefined) {
      if (bytes > CAPACITY) throw new HeadersTooLargeError(bytes, connection.frameMax)
      return false
    }
    this.#flush({ connection, ch })
    connection.sentSinceLastCheck = true
    if (connection.channels[ch]?.buffer?.write(whole) === false) this.#full()
    return true
  }

  #publishAlone({ route, content, properties }: Outgoing, confirmed: (error: unknown) => void): void {
    const publish = (options: AmqpProperties) =>
      this.#channel.publish(
        route.exchange,
        route.routingKey,
        content,
        { ...options, mandatory: true },
        confirmed,
      )
    if (!orReduced(publish, properties)) this.#full()
  }

  #flush({ connection, ch }: Pick<Inner, 'connection' | 'ch'>): void {
    if (this.#frames.isEmpty) return
    const bytes = this.#frames.take()
    connection.sentSinceLastCheck = true
    // Without a buffer the channel is closed, and has told so whoever waits for a confirmation.
    if (connection.channels[ch]?.buffer?.write(bytes) === false) this.#full()
  }
}

/** Other programs write what the client can read and not write. Without that the message can go on; with it, nowhere. */
function orReduced(publish: (properties: AmqpProperties) => boolean, properties: AmqpProperties): boolean {
  try {
    return publish(properties)
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error
    return publish(reduced(properties))
  }
}

function hasWireValues(headers: AmqpHeaders): boolean {
  return Object.values(headers).some(value => value instanceof WireValue)
}

/** For the client, which writes what it has read as well as it can. */
function withoutWireValues(message: Outgoing): Outgoing {
  const { headers } = message.properties
  if (headers === undefined || !hasWireValues(headers)) return message
  const decoded = Object.entries(headers).map(([name, value]) => [
    name,
    value instanceof WireValue ? value.decoded : value,
  ])
  return { ...message, properties: { ...message.properties, headers: Object.fromEntries(decoded) } }
}

function isInner(channel: unknown): channel is Inner {
  const { ch, connection, pushConfirmCallback } = channel as Partial<Inner>
  return (
    typeof ch === 'number' &&
    typeof pushConfirmCallback === 'function' &&
    typeof connection?.channels?.[ch]?.buffer?.write === 'function' &&
    connection.frameMax >= CAPACITY
  )
}
