import type { AmqpConfirmChannel, AmqpConnection, AmqpReturned } from '../amqp.ts'
import { RabbitmqUnreachableError, UnroutableError } from '../errors.ts'
import type { RabbitmqSettings, Route } from '../options.ts'
import type { Encoded } from '../wire/encode.ts'
import { Gate } from './gate.ts'
import type { Link } from './link.ts'

export interface Outgoing extends Encoded {
  readonly route: Route
}

/** Told once how each message of it went; the first that went wrong decides. */
interface Batch {
  left: number
  readonly unroutable: Outgoing[]
  finish(error?: Error): void
}

/**
 * Publishes on one confirm channel and waits for the server's word. Messages are mandatory: one that no queue takes
 * comes back, and is told of instead of being dropped in silence.
 */
export class Publisher {
  readonly #link: Link
  readonly #settings: RabbitmqSettings
  readonly #gate = new Gate()
  /** By place and id: the server sends a message back before it confirms it. */
  readonly #returned = new Map<string, number>()
  #open: { readonly connection: AmqpConnection; readonly channel: Promise<AmqpConfirmChannel> } | undefined
  readonly #batches = new Set<Batch>()

  constructor(link: Link, settings: RabbitmqSettings) {
    this.#link = link
    this.#settings = settings
  }

  /** Resolves with those that no queue took, once all the others are durable. Without a limit it waits for the link. */
  async send(
    messages: readonly Outgoing[],
    limitMs = Number.POSITIVE_INFINITY,
  ): Promise<readonly Outgoing[]> {
    if (messages.length === 0) return []
    const { clock, connectTimeoutMs } = this.#settings
    const until = clock.now() + limitMs
    const connection = await this.#link.get(Math.min(limitMs, connectTimeoutMs))
    const channel = await this.#channelOn(connection)
    return await new Promise((resolve, reject) => {
      const cancel =
        limitMs === Number.POSITIVE_INFINITY
          ? undefined
          : clock.schedule(Math.max(0, until - clock.now()), () =>
              batch.finish(
                new RabbitmqUnreachableError(this.#link.server, `no confirmation within ${limitMs} ms`),
              ),
            )
      const batch: Batch = {
        left: messages.length,
        unroutable: [],
        finish: error => {
          cancel?.()
          this.#batches.delete(batch)
          if (error === undefined) resolve(batch.unroutable)
          else reject(error)
        },
      }
      this.#batches.add(batch)
      void this.#write(channel, messages, batch)
    })
  }

  /** The same, and one that no queue takes is an error. */
  async sendOne(message: Outgoing): Promise<void> {
    const [back] = await this.send([message])
    if (back !== undefined) throw new UnroutableError(back.route.exchange, back.route.routingKey)
  }

  async #write(channel: AmqpConfirmChannel, messages: readonly Outgoing[], batch: Batch): Promise<void> {
    try {
      for (const message of messages) {
        if (!this.#gate.isOpen) await this.#gate.opened()
        if (!this.#batches.has(batch)) return
        const { exchange, routingKey } = message.route
        const hasRoom = channel.publish(
          exchange,
          routingKey,
          message.content,
          { ...message.properties, mandatory: true },
          error => this.#confirmed(message, batch, error),
        )
        if (!hasRoom) this.#gate.shut('full')
      }
    } catch (error) {
      batch.finish(this.#lost(error))
    }
  }

  #confirmed(message: Outgoing, batch: Batch, error: unknown): void {
    if (this.#returned.size > 0 && this.#takeReturned(message)) batch.unroutable.push(message)
    if (error) batch.finish(this.#lost(error))
    else if (--batch.left === 0) batch.finish()
  }

  #lost(cause: unknown): Error {
    return new RabbitmqUnreachableError(this.#link.server, 'the message was not confirmed', cause)
  }

  #channelOn(connection: AmqpConnection): Promise<AmqpConfirmChannel> {
    if (this.#open?.connection !== connection)
      this.#open = { connection, channel: this.#openChannel(connection) }
    return this.#open.channel
  }

  async #openChannel(connection: AmqpConnection): Promise<AmqpConfirmChannel> {
    const { onConnection } = this.#settings
    this.#gate.reset()
    this.#returned.clear()
    connection.on('blocked', (reason: string) => {
      this.#gate.shut('blocked')
      onConnection({ state: 'blocked', reason })
    })
    connection.on('unblocked', () => {
      this.#gate.open('blocked')
      onConnection({ state: 'unblocked' })
    })
    const channel = await connection.createConfirmChannel().catch((error: unknown) => {
      this.#open = undefined
      throw this.#lost(error)
    })
    channel.on('drain', () => this.#gate.open('full'))
    channel.on('return', (message: AmqpReturned) => this.#noteReturned(message))
    // Told by the close that follows; without a listener it would end the process.
    channel.on('error', () => {})
    channel.on('close', () => this.#closed(connection))
    return channel
  }

  #closed(connection: AmqpConnection): void {
    if (this.#open?.connection !== connection) return
    this.#open = undefined
    const lost = this.#lost(new Error('the channel closed'))
    for (const batch of [...this.#batches]) batch.finish(lost)
    this.#gate.reset()
  }

  #noteReturned({ fields, properties }: AmqpReturned): void {
    const name = placeOf(fields, properties.messageId)
    this.#returned.set(name, (this.#returned.get(name) ?? 0) + 1)
  }

  #takeReturned({ route, properties }: Outgoing): boolean {
    const name = placeOf(route, properties.messageId)
    const count = this.#returned.get(name)
    if (count === undefined) return false
    if (count === 1) this.#returned.delete(name)
    else this.#returned.set(name, count - 1)
    return true
  }
}

function placeOf({ exchange, routingKey }: Route, messageId: string | undefined): string {
  return `${exchange}\n${routingKey}\n${messageId ?? ''}`
}
