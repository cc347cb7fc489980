import { type Cancel, type Clock, monotonicNow } from '../../../ports/clock.ts'
import type { Outgoing } from '../broker/wire/event-codec.ts'
import { QueueFullError } from '../errors.ts'
import type { RabbitmqSettings, Route } from '../options.ts'
import type { AmqpConfirmChannel, AmqpReturned } from './amqp.ts'
import { isNack, isOfClosedChannel } from './amqplib-internals.ts'
import { FrameWriter } from './frame-writer.ts'

type Reason = 'full' | 'blocked'

/**
 * Holds publishing back while the socket's buffer is full, or while the server has no memory or disk left and says so.
 * Writing on would only fill this process instead.
 */
export class Backpressure {
  readonly #reasons = new Set<Reason>()
  #waiting: (() => void)[] = []

  get isOpen(): boolean {
    return this.#reasons.size === 0
  }

  /** Whether the server has asked the connection to stop publishing. */
  get isBlocked(): boolean {
    return this.#reasons.has('blocked')
  }

  apply(reason: Reason): void {
    this.#reasons.add(reason)
  }

  open(reason: Reason): void {
    this.#reasons.delete(reason)
    if (this.isOpen) this.#resumeWaiting()
  }

  /** Another connection: what held the old one back is over. */
  reset(): void {
    this.#reasons.clear()
    this.#resumeWaiting()
  }

  async opened(): Promise<void> {
    if (!this.isOpen) await new Promise<void>(resolve => this.#waiting.push(resolve))
    // A caller that was admitted before may have filled the buffer again. The next time, the caller that has waited
    // longest comes first.
    while (!this.isOpen) await new Promise<void>(resolve => this.#waiting.unshift(resolve))
  }

  #resumeWaiting(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}

const NONE: readonly Outgoing[] = []

/** Messages that are published together. They get one result, and the first error decides. */
class PublishBatch {
  readonly messages: readonly Outgoing[]
  /** Those that no queue took. */
  #unroutable: Outgoing[] | undefined
  readonly #done = Promise.withResolvers<readonly Outgoing[]>()
  /** The number of messages that the server has not confirmed. */
  left: number
  /** The time of the write, or of the last confirm. */
  movedAt = 0
  /** A part is not written yet, because the server accepts no more for the moment. */
  isBlocked = false

  constructor(messages: readonly Outgoing[]) {
    this.messages = messages
    this.left = messages.length
  }

  /** Resolves with those that no queue took. */
  get done(): Promise<readonly Outgoing[]> {
    return this.#done.promise
  }

  addUnroutable(message: Outgoing): void {
    this.#unroutable ??= []
    this.#unroutable.push(message)
  }

  finish(error: Error | undefined): void {
    if (error === undefined) this.#done.resolve(this.#unroutable ?? NONE)
    else this.#done.reject(error)
  }
}

/** Describes why messages were not confirmed, in terms of the broker. */
type FailureOf = (messages: readonly Outgoing[], error: Error) => Error

/** The shortest life of a channel that a queue refuses, so that a full queue does not cost a channel for each message. */
const RETIRE_AFTER_MS = 1_000

/** The connection works, but the queue does not answer. */
export class AnswerTimeoutError extends Error {
  override readonly name = 'AnswerTimeoutError'
}

/**
 * One confirm channel and what waits for its word. When it closes, no confirmation will come: the waiting calls reject
 * immediately. A channel that published to a queue while its leader was being elected may never get a confirmation, and
 * later messages wait as well; so one on which a batch stands still is given up.
 */
export class Confirms {
  readonly #channel: AmqpConfirmChannel
  readonly #writer: FrameWriter
  readonly #backpressure: Backpressure
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #failureOf: FailureOf
  readonly #batches = new Set<PublishBatch>()
  /** The returned messages by route and id. The server returns a message before it confirms it. */
  readonly #returned = new Map<string, number>()
  #stopWatching: Cancel | undefined
  /** The time of the last confirm of the server. */
  #movedAt = 0
  #isOpen = true
  /** The channel only waits for its last batches. Other messages use another channel. */
  #isRetired = false
  readonly #openedAt: number
  /** Why the server closed it. */
  #closedBy: Error | undefined

  constructor(
    channel: AmqpConfirmChannel,
    backpressure: Backpressure,
    { clock, confirmTimeoutMs }: Pick<RabbitmqSettings, 'clock' | 'confirmTimeoutMs'>,
    failureOf: FailureOf,
  ) {
    this.#channel = channel
    this.#writer = new FrameWriter(channel, () => backpressure.apply('full'))
    this.#backpressure = backpressure
    this.#clock = clock
    this.#timeoutMs = confirmTimeoutMs
    this.#failureOf = failureOf
    this.#openedAt = monotonicNow(clock)
    channel.on('drain', () => backpressure.open('full'))
    channel.on('return', (message: AmqpReturned) => this.#noteReturned(message))
    // The close event that follows reports the error. Without a listener the error would end the process.
    channel.on('error', (error: Error) => {
      this.#closedBy = error
    })
    channel.on('close', () => this.#end())
  }

  /** Takes more. */
  get isOpen(): boolean {
    return this.#isOpen && !this.#isRetired
  }

  /** Resolves with those that no queue took, once all the others are durable. */
  send(messages: readonly Outgoing[]): Promise<readonly Outgoing[]> {
    const batch = new PublishBatch(messages)
    this.#batches.add(batch)
    if (this.#stopWatching === undefined) this.#watch(this.#timeoutMs)
    this.#write(batch, 0)
    return batch.done
  }

  #write(batch: PublishBatch, from: number): void {
    const { messages } = batch
    batch.movedAt = monotonicNow(this.#clock)
    try {
      for (let index = from; index < messages.length; index++) {
        if (!this.#batches.has(batch)) return
        batch.isBlocked = !this.#backpressure.isOpen
        if (batch.isBlocked) {
          void this.#backpressure.opened().then(() => this.#write(batch, index))
          return
        }
        const message = messages[index]!
        this.#writer.publish(message, error => this.#confirmed(message, batch, error))
      }
    } catch (error) {
      this.#finish(batch, error as Error)
      if (isOfClosedChannel(error)) this.#end()
    }
  }

  #confirmed(message: Outgoing, batch: PublishBatch, error: unknown): void {
    this.#movedAt = monotonicNow(this.#clock)
    if (this.#returned.size > 0 && this.#takeReturned(message)) batch.addUnroutable(message)
    if (error) this.#refused(message, batch, error as Error)
    else if (--batch.left === 0) this.#finish(batch)
    else batch.movedAt = this.#movedAt
  }

  #refused({ route }: Outgoing, batch: PublishBatch, error: Error): void {
    if (!isNack(error)) {
      this.#finish(batch, this.#closedBy ?? error)
      return
    }
    // A queue that was full continues to refuse a channel that it has refused before, even when it has room.
    if (monotonicNow(this.#clock) - this.#openedAt > RETIRE_AFTER_MS) this.#isRetired = true
    this.#finish(batch, new QueueFullError(route.exchange, route.routingKey, error))
  }

  #finish(batch: PublishBatch, error?: Error): void {
    if (!this.#batches.delete(batch)) return
    batch.finish(error && this.#failureOf(batch.messages, error))
    if (this.#batches.size > 0) return
    if (this.#isRetired) this.#abandon()
    this.#stopWatching?.()
    this.#stopWatching = undefined
  }

  /** A large batch takes its time; only one that stands still is given up. */
  #watch(inMs: number): void {
    this.#stopWatching = this.#clock.schedule(inMs, () => {
      this.#stopWatching = undefined
      const latest = monotonicNow(this.#clock) - this.#timeoutMs
      const late = [...this.#batches].filter(batch => this.#lastMove(batch) <= latest)
      for (const batch of late)
        this.#finish(batch, new AnswerTimeoutError(`no confirmation within ${this.#timeoutMs} ms`))
      // While the server asks to wait, no batch counts as late.
      if (late.length > 0 && !this.#backpressure.isBlocked) this.#abandon()
      else if (this.#batches.size > 0)
        this.#watch(Math.min(...Array.from(this.#batches, batch => this.#lastMove(batch))) - latest)
    })
  }

  /** A batch that waits for others is not late as long as the server confirms those. */
  #lastMove({ movedAt, isBlocked }: PublishBatch): number {
    return isBlocked ? Math.max(movedAt, this.#movedAt) : movedAt
  }

  /** Gives the channel up, and with it all that waits. Another one may hear. */
  #abandon(): void {
    this.#end()
    this.#channel.close().catch(() => {})
  }

  #end(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    const error = this.#closedBy ?? new Error('the channel closed')
    for (const batch of [...this.#batches]) this.#finish(batch, error)
    this.#backpressure.open('full')
  }

  #noteReturned({ fields, properties }: AmqpReturned): void {
    const name = messageKey(fields, properties.messageId)
    this.#returned.set(name, (this.#returned.get(name) ?? 0) + 1)
  }

  #takeReturned({ route, properties }: Outgoing): boolean {
    const name = messageKey(route, properties.messageId)
    const count = this.#returned.get(name)
    if (count === undefined) return false
    if (count === 1) this.#returned.delete(name)
    else this.#returned.set(name, count - 1)
    return true
  }
}

function messageKey({ exchange, routingKey }: Route, messageId: string | undefined): string {
  return `${exchange}\n${routingKey}\n${messageId ?? ''}`
}
