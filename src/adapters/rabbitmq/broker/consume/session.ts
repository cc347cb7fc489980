import type { AmqpChannel, AmqpConnection, AmqpMessage } from '../../connection/amqp.ts'
import { requireOpen } from '../../connection/closed-channel.ts'
import { suspectsQueue } from '../topology/names.ts'
import { Acks } from './acks.ts'
import type { Epoch } from './delivery.ts'
import { PrefetchWindow } from './prefetch-window.ts'

/** AMQP counts it in 16 bits. */
const MOST_PREFETCH = 65_535
const ONE_AT_A_TIME = 1
const NOT_FOUND = 404

/** What it takes from the server. */
export type Flow = 'queue' | 'suspects' | 'none'

/**
 * One channel that consumes: an epoch. What arrived on it can only be acknowledged on it; once it is lost, the server
 * hands everything over again, and late acknowledgements go nowhere.
 */
export class Session implements Epoch {
  readonly acks: Acks
  readonly #channel: AmqpChannel
  #flow: Flow = 'none'
  #tags: readonly string[] = []
  #window: PrefetchWindow | undefined
  /** Why it was closed: the reply code of the server. */
  #code: unknown
  #isOpen = true
  /** Called when the last of what came is settled, once it takes nothing more. */
  #afterLast: (() => void) | undefined
  readonly #ended = Promise.withResolvers<void>()

  private constructor(channel: AmqpChannel) {
    this.#channel = channel
    this.acks = new Acks(channel)
  }

  static async open(connection: AmqpConnection, onLost: (session: Session) => void): Promise<Session> {
    const channel = await connection.createChannel()
    requireOpen(channel)
    const session = new Session(channel)
    const lost = () => {
      session.#ended.resolve()
      if (!session.#isOpen) return
      session.#isOpen = false
      onLost(session)
    }
    channel.on('error', (error: { readonly code?: unknown }) => {
      session.#code = error.code
    })
    channel.on('close', lost)
    return session
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** It could not go on because the queue is not there. */
  get missedItsQueue(): boolean {
    return this.#code === NOT_FOUND
  }

  get flow(): Flow {
    return this.#flow
  }

  /** The server may hand over more of what flows. */
  get hasRoom(): boolean {
    return this.#window?.hasRoom === true
  }

  /** Fails when one of them is not there. */
  async requireQueues(queue: string): Promise<void> {
    for (const name of [queue, suspectsQueue(queue)]) await this.#channel.checkQueue(name)
  }

  /** How many messages of the queue the server could hand over. */
  async countReady(queue: string): Promise<number> {
    return (await this.#channel.checkQueue(queue)).messageCount
  }

  /** How many suspects the server holds that nobody has in hand. */
  async countSuspects(queue: string): Promise<number> {
    return (await this.#channel.checkQueue(suspectsQueue(queue))).messageCount
  }

  /** From the queue itself, or one at a time from its suspects. A message of null says that the queue was deleted. */
  async consume(
    flow: 'queue' | 'suspects',
    queue: string,
    prefetch: number,
    receive: (session: Session, message: AmqpMessage | null, isSuspect: boolean) => void,
  ): Promise<void> {
    await this.cancel()
    this.#window =
      flow === 'queue'
        ? await this.listen(queue, prefetch, message => receive(this, message, false))
        : await this.listen(suspectsQueue(queue), ONE_AT_A_TIME, message => receive(this, message, true))
    this.#flow = flow
  }

  /** Nothing flows any more once the server has heard so, and not before: messages may be on their way. */
  async cancel(): Promise<void> {
    const tags = this.#tags
    this.#tags = []
    for (const tag of tags) await this.#channel.cancel(tag)
    this.#flow = 'none'
  }

  /** A prefetch of 0 sets no limit. Answers how much of it is taken. */
  async listen(
    queue: string,
    prefetch: number,
    receive: (message: AmqpMessage | null) => void,
  ): Promise<PrefetchWindow> {
    const limit = Math.min(prefetch, MOST_PREFETCH)
    const window = new PrefetchWindow(limit === 0 ? undefined : limit)
    await this.#channel.prefetch(limit)
    const { consumerTag } = await this.#channel.consume(queue, message => {
      if (message !== null) this.acks.arrived(message, window)
      receive(message)
    })
    this.#tags = [...this.#tags, consumerTag]
    return window
  }

  settled(message: AmqpMessage): void {
    if (!this.#isOpen) return
    this.acks.settled(message)
    if (this.acks.open === 0) this.#afterLast?.()
  }

  /** Takes nothing more. What came can still be acknowledged; `afterLast` is told when all of it is. */
  async retire(afterLast: () => void): Promise<void> {
    await this.cancel().catch(() => {})
    if (this.acks.open === 0) afterLast()
    else this.#afterLast = afterLast
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return
    this.#isOpen = false
    // Nobody hears of it when the connection ends first; then the channel ends with it.
    await Promise.race([this.#channel.close().catch(() => {}), this.#ended.promise])
  }
}
