import { EventEmitter } from 'node:events'
import { APP_ID, OWN } from '../../src/adapters/rabbitmq/broker/wire/headers.ts'
import type {
  AmqpChannel,
  AmqpConnection,
  AmqpHeaders,
  AmqpMessage,
} from '../../src/adapters/rabbitmq/connection/amqp.ts'

interface Consumer {
  readonly queue: string
  readonly channel: FakeChannel
  readonly limit: number
  readonly hand: (message: AmqpMessage) => void
  open: number
  isForgotten: boolean
  readonly consumerTag: string
}

interface Waiting {
  readonly content: Buffer
  readonly properties: AmqpMessage['properties']
  readonly redelivered: boolean
}

type Handed = Waiting & { readonly consumer: Consumer }

/** What a quorum queue gives to a consumer that asks for no limit. */
const UNLIMITED = 2_000

/** A server in memory, for tests of those who consume: queues, prefetch, acknowledgements, and consumers that it forgets. */
export class FakeRabbitmq {
  readonly #queues = new Map<string, Waiting[]>()
  readonly #consumers = new Set<Consumer>()
  readonly #channels = new Set<FakeChannel>()
  readonly #mayHandOver = new Map<string, number>()
  #isTokenTaken = false
  /** Queues without a leader: the server says that they have no messages and no consumers. */
  readonly uncounted = new Set<string>()
  /** Queues that must not be consumed. */
  readonly refused = new Set<string>()
  /** Ids of what was acknowledged. */
  readonly acknowledged: (string | undefined)[] = []
  /** Channels on which something was consumed. */
  sessions = 0
  readonly connection = {
    createChannel: async () => {
      const channel = new FakeChannel(this)
      this.#channels.add(channel)
      return channel as unknown as AmqpChannel
    },
  } as unknown as AmqpConnection

  publish(
    queue: string,
    id: string,
    {
      key,
      headers,
      appId = APP_ID,
      redelivered = false,
    }: { key?: string; headers?: AmqpHeaders; appId?: string; redelivered?: boolean } = {},
  ): void {
    // Another program has the token: our consumer waits without success, and no ready token is visible.
    if (queue.endsWith('.owner') && this.#isTokenTaken) return
    const properties = {
      appId,
      messageId: id,
      type: 'test',
      headers: {
        [OWN.occurredAt]: '2026-01-01T00:00:00.000Z',
        ...(key === undefined ? {} : { [OWN.key]: key }),
        ...headers,
      },
    }
    this.#queue(queue).push({ content: Buffer.from('{}'), properties, redelivered })
    this.#handOut()
  }

  ready(queue: string): number {
    return this.#queue(queue).length
  }

  countConsumers(queue: string): number {
    return [...this.#consumers].filter(consumer => consumer.queue === queue).length
  }

  /** They stay in the books, and get nothing any more. */
  forgetConsumers(queue: string): void {
    for (const consumer of this.#consumers) if (consumer.queue === queue) consumer.isForgotten = true
  }

  /** So many messages of the queue are handed over from now on. */
  handOver(queue: string, count: number): void {
    this.#mayHandOver.set(queue, count)
    this.#handOut()
  }

  /** Every channel is lost, as with a connection. */
  async endChannels(): Promise<void> {
    const channels = [...this.#channels]
    this.#channels.clear()
    for (const channel of channels) await channel.close()
  }

  /** From the next channel on. */
  giveTokensToAnother(): void {
    this.#isTokenTaken = true
  }

  add(consumer: Consumer): void {
    this.#consumers.add(consumer)
    this.#handOut()
  }

  remove(isIt: (consumer: Consumer) => boolean): void {
    for (const consumer of this.#consumers) if (isIt(consumer)) this.#consumers.delete(consumer)
  }

  settle({ consumer, properties }: Handed): void {
    consumer.open--
    this.acknowledged.push(properties.messageId)
    this.#handOut()
  }

  takeBack(handed: readonly Handed[]): void {
    for (const { consumer, content, properties } of handed.toReversed())
      if (!(consumer.queue.endsWith('.owner') && this.#isTokenTaken))
        this.#queue(consumer.queue).unshift({ content, properties, redelivered: true })
    this.#handOut()
  }

  #queue(name: string): Waiting[] {
    const queue = this.#queues.get(name) ?? []
    this.#queues.set(name, queue)
    return queue
  }

  #handOut(): void {
    for (const consumer of this.#consumers) {
      const queue = this.#queue(consumer.queue)
      while (queue.length > 0 && this.#consumers.has(consumer) && this.#hasRoom(consumer)) {
        consumer.open++
        this.#mayHandOver.set(consumer.queue, this.#allowance(consumer) - 1)
        consumer.channel.receive({ ...queue.shift()!, consumer })
      }
    }
  }

  #hasRoom(consumer: Consumer): boolean {
    return (
      !consumer.isForgotten && this.#allowance(consumer) > 0 && consumer.open < (consumer.limit || UNLIMITED)
    )
  }

  #allowance({ queue }: Consumer): number {
    return this.#mayHandOver.get(queue) ?? Number.POSITIVE_INFINITY
  }
}

class FakeChannel extends EventEmitter {
  readonly #server: FakeRabbitmq
  readonly #handed = new Map<number, Handed>()
  #lastTag = 0
  #limit = 0
  #isUsed = false
  #isClosed = false

  constructor(server: FakeRabbitmq) {
    super()
    this.#server = server
  }

  async prefetch(limit: number): Promise<void> {
    this.#limit = limit
  }

  async checkQueue(queue: string) {
    if (this.#server.uncounted.has(queue)) return { messageCount: 0, consumerCount: 0 }
    return { messageCount: this.#server.ready(queue), consumerCount: this.#server.countConsumers(queue) }
  }

  async consume(queue: string, hand: (message: AmqpMessage) => void, { consumerTag = queue } = {}) {
    if (this.#isClosed) throw new Error('the channel is closed')
    if (this.#server.refused.has(queue)) {
      await this.close()
      throw Object.assign(new Error('403'), { code: 403 })
    }
    if (!this.#isUsed) this.#server.sessions++
    this.#isUsed = true
    this.#server.add({
      queue,
      consumerTag,
      channel: this,
      limit: this.#limit,
      hand,
      open: 0,
      isForgotten: false,
    })
    return { consumerTag }
  }

  async cancel(tag: string): Promise<void> {
    this.#server.remove(({ channel, consumerTag }) => channel === this && consumerTag === tag)
  }

  receive(handed: Handed): void {
    const deliveryTag = ++this.#lastTag
    this.#handed.set(deliveryTag, handed)
    const { content, properties, redelivered } = handed
    const fields = { deliveryTag, redelivered, exchange: '', routingKey: handed.consumer.queue }
    handed.consumer.hand({ content, properties, fields })
  }

  ack({ fields }: AmqpMessage, allUpTo = false): void {
    const { deliveryTag } = fields
    const tags = allUpTo ? [...this.#handed.keys()].filter(each => each <= deliveryTag) : [deliveryTag]
    for (const tag of tags) {
      const handed = this.#handed.get(tag)!
      this.#handed.delete(tag)
      this.#server.settle(handed)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#server.remove(({ channel }) => channel === this)
    this.#server.takeBack([...this.#handed.values()])
    this.#handed.clear()
    this.emit('close')
  }
}
