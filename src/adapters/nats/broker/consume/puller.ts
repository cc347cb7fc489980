import { type Cancel, equalJitter, monotonicNow } from '../../../../ports/clock.ts'
import type { NatsConnection, NatsMessage, NatsSubscription } from '../../connection/client.ts'
import { HeaderReader } from '../../connection/header-reader.ts'
import { NANOSECONDS_PER_MS } from '../../connection/nanoseconds.ts'
import type { PullLimits } from '../streams/streams.ts'
import { type StreamMessage, toStreamMessage } from '../wire/message.ts'
import type { SubscriptionContext } from './context.ts'
import type { Source } from './entry.ts'

interface PullListener {
  /** How many more messages may come. */
  room(): number
  received(message: StreamMessage): void
  /** Makes the consumer work again, and finds out what it allows. */
  repair(): Promise<PullLimits>
}

/** A request that nothing came of is answered by the server after this time, and repeated. */
const EXPIRES_MS = 10_000
/** When the answer does not come by then, the request was lost. */
const LOST_AFTER_MS = EXPIRES_MS + 3_000
const MAX_BATCH = 1_000
const FIRST_BACKOFF_MS = 50
const MAX_BACKOFF_MS = 5_000
/** A failure that goes away by itself, such as a leader that moves, is not reported. */
const UNREPORTED = 3

/** Answers of the server to a request: what it had is sent, or the time is over. All others are failures. */
const NO_MESSAGES = 404
const TIME_IS_OVER = 408
const HEARTBEAT = 100
const CONFLICT = 409
/** A conflict that ends one request and says nothing about the consumer. */
const HARMLESS = /^Batch Completed/i
const UNLIMITED: PullLimits = { messages: Number.POSITIVE_INFINITY, waitMs: Number.POSITIVE_INFINITY }

/**
 * Asks a consumer of JetStream for messages, as many as there is room for. The answers come by callback, which is
 * faster than the iterator of the client.
 */
export class Puller {
  readonly #context: SubscriptionContext
  readonly #listener: PullListener
  readonly #inbox: string
  readonly #subject: string
  readonly #headers = new HeaderReader()
  #connection: NatsConnection | undefined
  #subscription: NatsSubscription | undefined
  /** The requests that are not answered in full, with how much is missing and when they were sent. */
  readonly #requests = new Map<string, { missing: number; readonly lostAt: number }>()
  #requested = 0
  #count = 0
  /** Each connection has its own subjects for answers: the server goes on with requests whose subject is listened to again. */
  #connections = 0
  /** Limits that an operator has given the consumer. A request that exceeds them is refused, and they are read. */
  #limits = UNLIMITED
  #isPulling = false
  #isClosed = false
  #failures = 0
  #isRepairing = false
  #cancelCheck: Cancel | undefined
  readonly #stopListening: Cancel

  constructor(context: SubscriptionContext, source: Source, listener: PullListener) {
    this.#context = context
    this.#listener = listener
    this.#inbox = context.link.newInbox()
    const { streams, consumer } = context.names
    this.#subject = `$JS.API.CONSUMER.MSG.NEXT.${streams[source]}.${consumer}`
    this.#stopListening = context.link.onUp(connection => this.#up(connection))
  }

  async open(): Promise<void> {
    const connection = await this.#context.link.get()
    if (this.#connection === undefined) this.#up(connection)
  }

  resume(): void {
    this.#isPulling = true
    this.pull()
  }

  /** Asks for nothing more. Requests under way may still bring messages. */
  pause(): void {
    this.#isPulling = false
  }

  /** There may be room for more. */
  pull(): void {
    if (!this.#isPulling || this.#isClosed || this.#isRepairing || this.#context.link.current === undefined)
      return
    const room = this.#listener.room() - this.#requested
    // Many small requests cost more than one that comes a little later.
    if (room <= 0 || (this.#requested > 0 && room < this.#context.prefetch / 2)) return
    const { clock } = this.#context.settings
    const { messages, waitMs } = this.#limits
    const batch = Math.min(MAX_BATCH, messages, room)
    const token = String(++this.#count)
    this.#requests.set(token, { missing: batch, lostAt: monotonicNow(clock) + LOST_AFTER_MS })
    this.#requested += batch
    const expires = Math.min(EXPIRES_MS, waitMs) * NANOSECONDS_PER_MS
    const reply = `${this.#inbox}.${this.#connections}.${token}`
    this.#connection?.publish(this.#subject, JSON.stringify({ batch, expires }), { reply })
    this.#checkLater()
  }

  /** Nothing comes after this resolves. Messages on their way are handed over before. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#isPulling = false
    this.#stopListening()
    this.#cancelCheck?.()
    this.#context.stalls.ended('deliveries', this)
    const subscription = this.#subscription
    this.#subscription = undefined
    if (this.#context.link.current !== undefined) await subscription?.drain()
    else subscription?.unsubscribe()
  }

  /** Requests of a connection that was lost are lost too. */
  #up(connection: NatsConnection): void {
    if (this.#isClosed) return
    const earlier = this.#subscription
    if (this.#connection === connection) earlier?.drain().catch(() => {})
    this.#connection = connection
    const answers = `${this.#inbox}.${++this.#connections}`
    this.#subscription = connection.subscribe(`${answers}.*`, {
      callback: (_, message) => this.#receive(message, answers),
    })
    this.#requests.clear()
    this.#requested = 0
    this.pull()
  }

  #receive(message: NatsMessage, answers: string): void {
    const received = toStreamMessage(message, this.#headers)
    if (received !== undefined) {
      // A message has the subject it was published with, so that it does not say which request it answers.
      const [oldest] = this.#requests.keys()
      if (oldest !== undefined) this.#answered(oldest, 1)
      this.#works()
      this.#listener.received(received)
      return
    }
    const code = message.headers?.code ?? 0
    const description = message.headers?.description ?? ''
    if (code === HEARTBEAT) return
    const token = message.subject.slice(answers.length + 1)
    this.#answered(token, Number.POSITIVE_INFINITY)
    if (code === NO_MESSAGES || code === TIME_IS_OVER || (code === CONFLICT && HARMLESS.test(description))) {
      this.#works()
      this.pull()
    } else this.#failed(new Error(`${code} ${description || 'nobody answers'}`))
  }

  #answered(token: string, count: number): void {
    const request = this.#requests.get(token)
    if (request === undefined) return
    const answered = Math.min(count, request.missing)
    request.missing -= answered
    this.#requested -= answered
    if (request.missing === 0) this.#requests.delete(token)
  }

  #works(): void {
    if (this.#failures === 0) return
    this.#failures = 0
    this.#context.stalls.ended('deliveries', this)
  }

  /** The consumer or its stream is gone, or has no leader. */
  #failed(error: Error): void {
    if (this.#isClosed || this.#isRepairing) return
    this.#isRepairing = true
    void this.#repair(error)
  }

  async #repair(error: Error): Promise<void> {
    const { settings, stalls } = this.#context
    const { clock, random } = settings
    let problem = error
    for (;;) {
      if (++this.#failures > UNREPORTED) stalls.stalled('deliveries', this, problem)
      const restMs = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(this.#failures, 20))
      await new Promise<void>(resolve => clock.schedule(equalJitter(random, restMs), resolve))
      if (this.#isClosed) return
      try {
        this.#limits = await this.#listener.repair()
        break
      } catch (failure) {
        problem = failure as Error
      }
    }
    this.#isRepairing = false
    this.pull()
  }

  /** A request can be lost: by a leader that moves, or between two servers. A server of 2.9 answers none for a consumer that is missing. */
  #checkLater(): void {
    const { clock } = this.#context.settings
    const [oldest] = this.#requests.values()
    if (this.#isClosed || oldest === undefined) return
    this.#cancelCheck ??= clock.schedule(oldest.lostAt - monotonicNow(clock), () => {
      this.#cancelCheck = undefined
      const now = monotonicNow(clock)
      const lost = [...this.#requests].filter(([, { lostAt }]) => lostAt <= now)
      for (const [token] of lost) this.#answered(token, Number.POSITIVE_INFINITY)
      if (lost.length > 0) this.#failed(new Error('a request for events has no answer'))
      this.pull()
      this.#checkLater()
    })
  }
}
