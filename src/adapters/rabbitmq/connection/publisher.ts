import { LazaretError } from '../../../core/failure/errors.ts'
import type { Outgoing } from '../broker/wire/event-codec.ts'
import {
  ExchangeMissingError,
  RabbitmqRefusedError,
  RabbitmqUnreachableError,
  UnroutableError,
} from '../errors.ts'
import type { RabbitmqSettings } from '../options.ts'
import type { AmqpConnection } from './amqp.ts'
import { requireOpen } from './amqplib-internals.ts'
import { Backpressure, Confirms } from './confirms.ts'
import type { Link } from './link.ts'

const MAX_WRITES_WAITING = 16
const ACCESS_REFUSED = 403
const NOT_FOUND = 404

/**
 * Publishes and waits for the confirm of the server. Messages are mandatory: a message that no queue accepts is returned
 * and reported, and not dropped silently. All messages share one channel, because opening a channel per message is slow.
 */
export class Publisher {
  readonly #link: Link
  readonly #settings: RabbitmqSettings
  readonly #backpressure = new Backpressure()
  #opening: { readonly connection: AmqpConnection; readonly confirms: Promise<Confirms> } | undefined
  #confirms: Confirms | undefined

  constructor(link: Link, settings: RabbitmqSettings) {
    this.#link = link
    this.#settings = settings
    link.onUp(connection => this.#listen(connection))
  }

  /** Resolves with those that no queue took, once all the others are durable. */
  send(messages: readonly Outgoing[]): Promise<readonly Outgoing[]> {
    if (messages.length === 0) return Promise.resolve(messages)
    return this.#confirms?.isOpen
      ? this.#confirms.send(messages)
      : this.#open().then(confirms => confirms.send(messages))
  }

  /** Sends one message. It is an error if no queue accepts it. */
  async sendOne(message: Outgoing): Promise<void> {
    const [back] = await this.send([message])
    if (back !== undefined) throw new UnroutableError(back.route.exchange, back.route.routingKey)
  }

  async #open(): Promise<Confirms> {
    const { confirmTimeoutMs, connectTimeoutMs } = this.#settings
    const connection = await this.#link.get(Math.min(confirmTimeoutMs, connectTimeoutMs))
    if (this.#confirms?.isOpen) return this.#confirms
    if (this.#opening?.connection !== connection) {
      const opening = { connection, confirms: this.#openOn(connection) }
      this.#opening = opening
      const opened = () => {
        if (this.#opening === opening) this.#opening = undefined
      }
      opening.confirms.then(opened, opened)
    }
    return await this.#opening!.confirms
  }

  async #openOn(connection: AmqpConnection): Promise<Confirms> {
    try {
      const channel = await connection.createConfirmChannel({ highWaterMark: MAX_WRITES_WAITING })
      requireOpen(channel)
      const confirms = new Confirms(channel, this.#backpressure, this.#settings, (messages, error) =>
        this.#failureOf(messages, error),
      )
      this.#confirms = confirms
      return confirms
    } catch (error) {
      throw this.#unconfirmed('no channel could be opened', error)
    }
  }

  #listen(connection: AmqpConnection): void {
    const { onConnection } = this.#settings
    this.#backpressure.reset()
    connection.on('blocked', (reason: string) => {
      this.#backpressure.apply('blocked')
      onConnection({ state: 'blocked', reason })
    })
    connection.on('unblocked', () => {
      this.#backpressure.open('blocked')
      onConnection({ state: 'unblocked' })
    })
  }

  #failureOf(messages: readonly Outgoing[], error: Error): Error {
    // It has its own description, or the client cannot write the message.
    if (error instanceof LazaretError || error instanceof TypeError) return error
    const { code, message } = error as { readonly code?: unknown; readonly message: string }
    if (code === NOT_FOUND) return new ExchangeMissingError(exchangeOf(messages, message), error)
    if (code === ACCESS_REFUSED) return new RabbitmqRefusedError(this.#link.server, message, error)
    return this.#unconfirmed('the message was not confirmed', error)
  }

  #unconfirmed(problem: string, cause: unknown): RabbitmqUnreachableError {
    const why = cause instanceof Error ? `${problem}: ${cause.message}` : problem
    return new RabbitmqUnreachableError(this.#link.server, why, cause)
  }
}

/** The server names the message in its text; the other messages of the channel failed with it. */
function exchangeOf(messages: readonly Outgoing[], text: string): string {
  const [, named] = /no exchange '([^']*)'/.exec(text) ?? []
  return named ?? messages[0]!.route.exchange
}
