import type { AmqpConfirmChannel, AmqpReturned } from '../amqp.ts'
import { QueueFullError } from '../errors.ts'
import type { Route } from '../options.ts'
import type { Encoded } from '../wire/encode.ts'
import type { Gate } from './gate.ts'

export interface Outgoing extends Encoded {
  readonly route: Route
}

/** The connection is there, and its queue says nothing. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
}

/** Messages that are published together. Told once how it went; the first that went wrong decides. */
export interface Batch {
  readonly messages: readonly Outgoing[]
  readonly unroutable: Outgoing[]
  left: number
  finish(error?: Error): void
}

/** One confirm channel and what waits for its word. When it closes, nobody will ever hear: they are told at once. */
export class Confirms {
  readonly #channel: AmqpConfirmChannel
  readonly #gate: Gate
  readonly #batches = new Set<Batch>()
  /** By place and id: the server sends a message back before it confirms it. */
  readonly #returned = new Map<string, number>()
  #isOpen = true

  constructor(channel: AmqpConfirmChannel, gate: Gate) {
    this.#channel = channel
    this.#gate = gate
    channel.on('drain', () => gate.open('full'))
    channel.on('return', (message: AmqpReturned) => this.#noteReturned(message))
    // Told by the close that follows; without a listener it would end the process.
    channel.on('error', () => {})
    channel.on('close', () => this.#end())
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  async write(batch: Batch): Promise<void> {
    this.#batches.add(batch)
    try {
      for (const message of batch.messages) {
        if (!this.#gate.isOpen) await this.#gate.opened()
        if (!this.#batches.has(batch)) return
        const { exchange, routingKey } = message.route
        const options = { ...message.properties, mandatory: true }
        const hasRoom = this.#channel.publish(exchange, routingKey, message.content, options, error =>
          this.#confirmed(message, batch, error),
        )
        if (!hasRoom) this.#gate.shut('full')
      }
    } catch (error) {
      this.#finish(batch, error as Error)
    }
  }

  /** It is not waited for any longer. */
  forget(batch: Batch): void {
    this.#batches.delete(batch)
  }

  /** Gives the channel up, and with it all that waits. */
  abandon(): void {
    this.#end()
    this.#channel.close().catch(() => {})
  }

  #confirmed(message: Outgoing, batch: Batch, error: unknown): void {
    if (this.#returned.size > 0 && this.#takeReturned(message)) batch.unroutable.push(message)
    if (error) this.#finish(batch, asRefusal(error as Error, message.route))
    else if (--batch.left === 0) this.#finish(batch)
  }

  #finish(batch: Batch, error?: Error): void {
    if (this.#batches.delete(batch)) batch.finish(error)
  }

  #end(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    const error = new Error('the channel closed')
    for (const batch of [...this.#batches]) this.#finish(batch, error)
    this.#gate.open('full')
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

/** The client tells a refusal from the end of the channel by its text alone. */
function asRefusal(error: Error, { exchange, routingKey }: Route): Error {
  return error.message === 'message nacked' ? new QueueFullError(exchange, routingKey, error) : error
}

function placeOf({ exchange, routingKey }: Route, messageId: string | undefined): string {
  return `${exchange}\n${routingKey}\n${messageId ?? ''}`
}
