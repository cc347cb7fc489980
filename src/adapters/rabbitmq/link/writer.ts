import { nextTick } from 'node:process'
import type { AmqpConfirmChannel, AmqpProperties } from '../amqp.ts'
import { reduced } from '../wire/reduced.ts'
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
    if (inner === undefined || !this.#add(inner, message)) this.#publishAlone(message, confirmed)
    else inner.pushConfirmCallback(confirmed)
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

  #flush({ connection, ch }: Inner): void {
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

function isInner(channel: unknown): channel is Inner {
  const { ch, connection, pushConfirmCallback } = channel as Partial<Inner>
  return (
    typeof ch === 'number' &&
    typeof pushConfirmCallback === 'function' &&
    typeof connection?.channels?.[ch]?.buffer?.write === 'function' &&
    connection.frameMax >= CAPACITY
  )
}
