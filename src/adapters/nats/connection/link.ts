import { ClientMissingError } from '../../../adapter-kit/load-client.ts'
import {
  type Cancel,
  type Clock,
  delay,
  equalJitter,
  monotonicNow,
  settlesWithin,
} from '../../../ports/clock.ts'
import { NatsRefusedError, NatsUnreachableError } from '../errors.ts'
import type { NatsSettings } from '../options.ts'
import { readUrl } from '../url.ts'
import { loadNats, type NatsConnection, type NatsMessage } from './client.ts'
import { encodeHeaders, type HeaderList } from './headers.ts'

const FIRST_BACKOFF_MS = 100
const MAX_BACKOFF_MS = 5_000
const RECONNECT_WAIT_MS = 250
/** A server whose machine has died ends no connection. It is noticed when so many pings in a row have no answer. */
const PING_MS = 5_000
const MAX_UNANSWERED_PINGS = 2
/** How often unanswered requests are looked at: a timer for each would cost more than the request. */
const SWEEP_MS = 100
const NO_RESPONDERS = 503

/** Words that are sent for every event. The client would encode them each time. */
const WORDS: ReadonlyMap<unknown, Uint8Array> = new Map(
  ['+ACK', '+TERM', '+WPI', '-NAK'].map(word => [word, Buffer.from(word)]),
)

interface Waiting {
  readonly deadline: number
  resolve(message: NatsMessage): void
  reject(error: Error): void
}

/**
 * The connection to the servers. It is opened when it is first needed. The client opens a lost connection again by itself;
 * one that it gives up is replaced here.
 */
export class Link {
  readonly server: string
  readonly #settings: NatsSettings
  readonly #inbox: string
  readonly #waiting = new Map<string, Waiting>()
  readonly #listeners = new Set<(connection: NatsConnection) => void>()
  readonly #downListeners = new Set<(error: Error) => void>()
  #opening: Promise<NatsConnection> | undefined
  #current: NatsConnection | undefined
  #isUp = false
  #connections = 0
  #isClosed = false
  #count = 0
  #cancelSweep: Cancel | undefined

  constructor(settings: NatsSettings, id: string) {
    this.#settings = settings
    this.server = readUrl(settings.url)!.servers.join(',')
    this.#inbox = `_INBOX.${id}`
  }

  get clock(): Clock {
    return this.#settings.clock
  }

  /** The connection, if there is one at this moment. */
  get current(): NatsConnection | undefined {
    return this.#isUp ? this.#current : undefined
  }

  /** How many connections there were. The client makes a new one when it has lost one. */
  get connections(): number {
    return this.#connections
  }

  /** A subject for answers that no other part uses. */
  newInbox(): string {
    return `${this.#inbox}-${++this.#count}`
  }

  /** `listener` is called with each new connection, and again when the client has restored one. */
  onUp(listener: (connection: NatsConnection) => void): Cancel {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** `listener` is called when the connection is lost. */
  onDown(listener: (error: Error) => void): Cancel {
    this.#downListeners.add(listener)
    return () => this.#downListeners.delete(listener)
  }

  get(): Promise<NatsConnection> {
    if (this.#isClosed) return Promise.reject(this.#unreachable('the connection is closed'))
    this.#opening ??= this.#open().catch(error => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  /** Sends a message if there is a connection. Without one, and on one that is about to be lost, the message is lost. */
  send(subject: string, payload: string | Uint8Array, headers?: HeaderList): void {
    const connection = this.current
    if (connection === undefined || connection.isClosed()) return
    if (headers === undefined) connection.publish(subject, WORDS.get(payload) ?? payload)
    else connection.publish(subject, payload, { headers: { encode: () => encodeHeaders(headers) } })
  }

  /** Sends a message and resolves with its answer. */
  async call(
    subject: string,
    payload: string | Uint8Array,
    headers?: HeaderList,
    timeoutMs = this.#settings.requestTimeoutMs,
  ): Promise<NatsMessage> {
    const connection = this.current ?? (await this.untilUp(timeoutMs))
    const token = String(++this.#count)
    const { promise, resolve, reject } = Promise.withResolvers<NatsMessage>()
    const deadline = monotonicNow(this.clock) + timeoutMs
    this.#waiting.set(token, { deadline, resolve, reject })
    this.#sweepLater()
    const reply = `${this.#inbox}.${token}`
    try {
      connection.publish(
        subject,
        payload,
        headers === undefined ? { reply } : { reply, headers: { encode: () => encodeHeaders(headers) } },
      )
    } catch (error) {
      this.#waiting.delete(token)
      reject(isTooLarge(error) ? (error as Error) : this.#unreachable((error as Error).message, error))
    }
    return promise
  }

  /** A message that is sent while the connection is lost is lost too. */
  async untilUp(timeoutMs = this.#settings.requestTimeoutMs): Promise<NatsConnection> {
    const connection = await this.get()
    if (this.current !== undefined) return this.current
    const { promise, resolve } = Promise.withResolvers<NatsConnection>()
    const stop = this.onUp(resolve)
    const isUp = await settlesWithin(this.clock, timeoutMs, promise)
    stop()
    if (!isUp) throw this.#unreachable('the connection is lost')
    return this.current ?? connection
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelSweep?.()
    for (const { reject } of this.#waiting.values()) reject(this.#unreachable('the connection is closed'))
    this.#waiting.clear()
    const connection = await this.#opening?.catch(() => undefined)
    await connection?.close()
  }

  async #open(): Promise<NatsConnection> {
    const { clock, random, connectTimeoutMs } = this.#settings
    const giveUpAt = monotonicNow(clock) + connectTimeoutMs
    for (let restMs = FIRST_BACKOFF_MS; ; restMs = Math.min(MAX_BACKOFF_MS, restMs * 2)) {
      try {
        return await this.#connect()
      } catch (error) {
        if (error instanceof ClientMissingError) throw error
        if (isRefusal(error)) throw new NatsRefusedError(this.server, (error as Error).message, error)
        if (this.#isClosed || monotonicNow(clock) + restMs > giveUpAt)
          throw this.#unreachable((error as Error).message, error)
        await delay(clock, equalJitter(random, restMs))
      }
    }
  }

  async #connect(): Promise<NatsConnection> {
    const settings = this.#settings
    const { connectionName, requestTimeoutMs, client, authenticator } = settings
    const url = readUrl(settings.url)!
    const { connect } = await loadNats(client)
    const user = settings.user ?? url.user
    const token = settings.token ?? url.token
    const tls = settings.tls ?? (url.usesTls ? {} : undefined)
    const connection = await connect({
      servers: [...url.servers],
      name: connectionName,
      timeout: requestTimeoutMs,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RECONNECT_WAIT_MS,
      pingInterval: PING_MS,
      maxPingOut: MAX_UNANSWERED_PINGS,
      ignoreAuthErrorAbort: true,
      ...(user === undefined ? undefined : { user, pass: settings.password ?? url.password }),
      ...(token === undefined ? undefined : { token }),
      ...(tls === undefined ? undefined : { tls }),
      ...(authenticator === undefined ? undefined : { authenticator }),
    })
    if (this.#isClosed) {
      await connection.close()
      throw this.#unreachable('the connection is closed')
    }
    connection.subscribe(`${this.#inbox}.*`, { callback: (_, message) => this.#answered(message) })
    this.#current = connection
    void this.#watch(connection)
    this.#up(connection)
    return connection
  }

  async #watch(connection: NatsConnection): Promise<void> {
    try {
      for await (const { type, error } of connection.status()) {
        if (type === 'reconnect') this.#up(connection)
        else if (type === 'disconnect') this.#down(error ?? new Error('the connection was lost'))
      }
    } catch {
      // The connection is closed, which the next line finds out too.
    }
    await connection.closed()
    if (this.#current !== connection) return
    this.#current = undefined
    this.#opening = undefined
    this.#down(new Error('the client gave up the connection'))
    // Subscriptions wait for the next connection, and nobody else may ask for it.
    if (!this.#isClosed && this.#listeners.size > 0) this.#reopen()
  }

  #reopen(): void {
    this.get().catch(() => {
      if (!this.#isClosed) this.clock.schedule(MAX_BACKOFF_MS, () => this.#reopen())
    })
  }

  #up(connection: NatsConnection): void {
    if (!this.#isUp) this.#settings.onConnection({ state: 'up' })
    this.#isUp = true
    this.#connections++
    for (const listener of [...this.#listeners]) listener(connection)
  }

  #down(error: Error): void {
    if (!this.#isUp) return
    this.#isUp = false
    if (this.#isClosed) return
    const problem = this.#unreachable(error.message)
    this.#settings.onConnection({ state: 'down', error: problem })
    for (const listener of this.#downListeners) listener(problem)
  }

  #answered(message: NatsMessage): void {
    const token = message.subject.slice(this.#inbox.length + 1)
    const waiting = this.#waiting.get(token)
    if (waiting === undefined) return
    this.#waiting.delete(token)
    if (message.data.length === 0 && message.headers?.code === NO_RESPONDERS)
      waiting.reject(this.#unreachable('nobody answers this subject'))
    else waiting.resolve(message)
  }

  #sweepLater(): void {
    this.#cancelSweep ??= this.clock.schedule(SWEEP_MS, () => {
      this.#cancelSweep = undefined
      const now = monotonicNow(this.clock)
      for (const [token, { deadline, reject }] of this.#waiting)
        if (deadline <= now) {
          this.#waiting.delete(token)
          reject(this.#unreachable('no answer in time'))
        }
      if (this.#waiting.size > 0 && !this.#isClosed) this.#sweepLater()
    })
  }

  #unreachable(problem: string, cause?: unknown): NatsUnreachableError {
    return new NatsUnreachableError(this.server, problem, cause)
  }
}

/** The client refuses a message that the server would not take. */
export function isTooLarge(error: unknown): boolean {
  return (error as Error).name === 'InvalidArgumentError'
}

function isRefusal(error: unknown): boolean {
  const { name } = error as Error
  return name === 'AuthorizationError' || name === 'UserAuthenticationExpiredError'
}
