// The part of amqplib that is used, seen through its shape: the client stays an optional peer, and whatever has this
// shape will do.

export interface AmqpProperties {
  /** The MIME type of the content [none]. */
  readonly contentType?: string | undefined
  /** The encoding of the content, such as gzip [none]. */
  readonly contentEncoding?: string | undefined
  /** The headers of the message [none]. */
  readonly headers?: AmqpHeaders | undefined
  /** 2 or `true` for a message that survives a restart of the server [1]. */
  readonly deliveryMode?: number | boolean | undefined
  /** The priority of the message, for queues with priorities [0]. */
  readonly priority?: number | undefined
  /** The id of the request that the message belongs to [none]. */
  readonly correlationId?: string | undefined
  /** The queue for the answer [none]. */
  readonly replyTo?: string | undefined
  /** How long the message lives in a queue, in ms [no limit]. */
  readonly expiration?: string | number | undefined
  /** The id of the message [none]. */
  readonly messageId?: string | undefined
  /** When the message was sent, in epoch seconds [none]. */
  readonly timestamp?: number | undefined
  /** The type of the message [none]. */
  readonly type?: string | undefined
  /** The name of the sending program [none]. */
  readonly appId?: string | undefined
  /** The RabbitMQ user that sent the message [none]. The server checks it. */
  readonly userId?: string | undefined
}

export type AmqpHeaders = Readonly<Record<string, unknown>>

/** A message as amqplib delivers it. */
export interface AmqpMessage {
  readonly content: Buffer
  readonly fields: {
    readonly deliveryTag: number
    readonly redelivered: boolean
    readonly exchange: string
    readonly routingKey: string
  }
  readonly properties: AmqpProperties
}

export type AmqpReturned = Omit<AmqpMessage, 'content'>

export interface QueueReply {
  readonly queue: string
  readonly messageCount: number
  readonly consumerCount: number
}

interface Emitter {
  // biome-ignore lint/suspicious/noExplicitAny: each event has arguments of its own
  on(event: string, listener: (...args: any[]) => void): unknown
}

/** The methods of an amqplib channel that Lazaret uses. */
export interface AmqpChannel extends Emitter {
  assertQueue(queue: string, options: QueueOptions): Promise<QueueReply>
  checkQueue(queue: string): Promise<QueueReply>
  assertExchange(exchange: string, type: string, options: { readonly durable: boolean }): Promise<unknown>
  bindQueue(queue: string, exchange: string, pattern: string): Promise<unknown>
  prefetch(count: number): Promise<unknown>
  consume(
    queue: string,
    onMessage: (message: AmqpMessage | null) => void,
    options?: { readonly consumerTag?: string },
  ): Promise<{ readonly consumerTag: string }>
  cancel(consumerTag: string): Promise<unknown>
  get(queue: string, options?: { readonly noAck?: boolean }): Promise<AmqpMessage | false>
  ack(message: AmqpMessage, allUpTo?: boolean): void
  close(): Promise<void>
}

export interface QueueOptions {
  /** Whether the queue survives a restart of the server. */
  readonly durable: boolean
  /** The arguments of the declaration, such as `x-queue-type`. */
  readonly arguments: Readonly<Record<string, string | number | boolean>>
}

type PublishOptions = AmqpProperties & {
  /** Whether the server returns a message that no queue takes [false]. */
  readonly mandatory?: boolean
  /** Whether the message survives a restart of the server [false]. */
  readonly persistent?: boolean
}

/** The methods of an amqplib confirm channel that Lazaret uses. */
export interface AmqpConfirmChannel extends AmqpChannel {
  publish(
    exchange: string,
    routingKey: string,
    content: Buffer,
    options: PublishOptions,
    callback: (error: unknown) => void,
  ): boolean
}

/** The methods of an amqplib connection that Lazaret uses. */
export interface AmqpConnection extends Emitter {
  createChannel(): Promise<AmqpChannel>
  /** The mark is counted in writes, and a write of ours is up to 64 KiB. */
  createConfirmChannel(options?: { readonly highWaterMark?: number }): Promise<AmqpConfirmChannel>
  close(): Promise<void>
}

/** The module `amqplib` itself. */
export interface AmqpClient {
  connect(url: string, socketOptions?: Readonly<Record<string, unknown>>): Promise<AmqpConnection>
}
