import { BrokerClosedError } from '../../../ports/broker.ts'
import { type Cancel, within } from '../../../ports/clock.ts'
import { RabbitmqRefusedError, RabbitmqUnreachableError } from '../errors.ts'
import { type RabbitmqSettings, serverOf } from '../options.ts'
import type { AmqpConnection } from './amqp.ts'
import { requireAnswers } from './answers.ts'
import { gatherWrites } from './gather.ts'
import { loadClient } from './load-client.ts'
import { keepRawHeaders } from './raw-headers.ts'

/**
 * - `idle`: nobody has asked for it yet, or the server refused us and trying again was left to the next who asks.
 * - `connecting`: on its way, or waiting for the next try.
 * - `up`: there is a connection.
 * - `closed`: for good.
 */
type State =
  | { readonly is: 'idle' }
  | { readonly is: 'connecting'; readonly tries: number; readonly cancel: Cancel }
  | { readonly is: 'up'; readonly connection: AmqpConnection }
  | { readonly is: 'closed' }

interface Waiter {
  resolve(connection: AmqpConnection): void
  reject(error: Error): void
}

const CLOSE_MS = 2_000
const NOTHING_TO_CANCEL: Cancel = () => {}

/**
 * A connection that comes back by itself. Channels do not: each connection is another epoch, and whoever has a channel
 * opens a new one on the next connection and forgets what belonged to the old.
 */
export class Link {
  readonly server: string
  readonly purpose: 'publishing' | 'consuming'
  readonly #settings: RabbitmqSettings
  readonly #listeners = new Set<(connection: AmqpConnection) => void>()
  readonly #waiters = new Set<Waiter>()
  #state: State = { is: 'idle' }
  #wasUp = false
  #problem = 'no connection yet'

  constructor(settings: RabbitmqSettings, purpose: Link['purpose']) {
    this.#settings = settings
    this.server = serverOf(settings.url)
    this.purpose = purpose
  }

  /** Told of every new connection, from the next one on. */
  onUp(listener: (connection: AmqpConnection) => void): Cancel {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The connection there is, or the next one, if it comes within this time. */
  get(limitMs: number): Promise<AmqpConnection> {
    const state = this.#state
    if (state.is === 'up') return Promise.resolve(state.connection)
    if (state.is === 'closed') return Promise.reject(new BrokerClosedError(this.#settings.name))
    return new Promise((resolve, reject) => {
      const end = () => {
        this.#waiters.delete(waiter)
        cancel()
      }
      const waiter: Waiter = {
        resolve: connection => {
          end()
          resolve(connection)
        },
        reject: error => {
          end()
          reject(error)
        },
      }
      const cancel = this.#settings.clock.schedule(limitMs, () =>
        waiter.reject(
          new RabbitmqUnreachableError(this.server, `no connection within ${limitMs} ms: ${this.#problem}`),
        ),
      )
      this.#waiters.add(waiter)
      if (state.is === 'idle') this.#connect(0)
    })
  }

  async close(): Promise<void> {
    const state = this.#state
    this.#state = { is: 'closed' }
    for (const waiter of [...this.#waiters]) waiter.reject(new BrokerClosedError(this.#settings.name))
    if (state.is === 'connecting') state.cancel()
    if (state.is !== 'up') return
    // A server that does not answer must not hold up a shutdown.
    await within(this.#settings.clock, CLOSE_MS, state.connection.close())
  }

  #connect(tries: number): void {
    this.#state = { is: 'connecting', tries, cancel: NOTHING_TO_CANCEL }
    this.#open().then(
      connection => this.#up(connection),
      (error: unknown) => this.#failed(error as Error, tries),
    )
  }

  async #open(): Promise<AmqpConnection> {
    const { url, heartbeatSeconds, connectTimeoutMs, client } = this.#settings
    const address = new URL(url)
    if (!address.searchParams.has('heartbeat'))
      address.searchParams.set('heartbeat', String(heartbeatSeconds))
    const amqp = client ?? (await loadClient())
    const name = `${this.#settings.name} ${this.purpose}`
    return await amqp.connect(address.href, {
      timeout: connectTimeoutMs,
      noDelay: true,
      clientProperties: { connection_name: name },
    })
  }

  #up(connection: AmqpConnection): void {
    if (this.#state.is !== 'connecting') {
      connection.close().catch(() => {})
      return
    }
    gatherWrites(connection)
    if (this.purpose === 'consuming') keepRawHeaders(connection)
    else requireAnswers(connection, this.#settings.clock, this.#settings.confirmTimeoutMs)
    let problem: Error | undefined
    connection.on('error', (error: Error) => {
      problem = error
    })
    connection.on('close', (error?: Error) => this.#down(connection, problem ?? error))
    this.#state = { is: 'up', connection }
    this.#wasUp = true
    this.#settings.onConnection({ state: 'up', purpose: this.purpose })
    for (const listener of this.#listeners) listener(connection)
    for (const waiter of [...this.#waiters]) waiter.resolve(connection)
  }

  #down(connection: AmqpConnection, cause: Error | undefined): void {
    if (this.#state.is !== 'up' || this.#state.connection !== connection) return
    const error = cause ?? new Error('the server closed the connection')
    this.#settings.onConnection({ state: 'down', purpose: this.purpose, error })
    this.#problem = error.message
    this.#wait(0)
  }

  #failed(error: Error, tries: number): void {
    if (this.#state.is !== 'connecting') return
    this.#problem = error.message
    const isHopeless =
      !this.#wasUp && (isRefusal(error) || ('code' in error && error.code === 'LAZARET_CLIENT_MISSING'))
    if (!isHopeless) {
      this.#wait(tries + 1)
      return
    }
    this.#state = { is: 'idle' }
    const told = isRefusal(error) ? new RabbitmqRefusedError(this.server, error.message, error) : error
    for (const waiter of [...this.#waiters]) waiter.reject(told)
  }

  /** Full jitter: when a server comes back, not all of its clients come at once. */
  #wait(tries: number): void {
    const { clock, random, reconnectBaseMs, reconnectMaxMs } = this.#settings
    const most = Math.min(reconnectMaxMs, reconnectBaseMs * 2 ** Math.min(tries, 30))
    const cancel = clock.schedule(Math.ceil(random() * most), () => this.#connect(tries))
    this.#state = { is: 'connecting', tries, cancel }
  }
}

/** The client tells a refused handshake by its text alone. 403: who we are; 530: where we want to go. */
function isRefusal(error: Error): boolean {
  const { code } = error as { readonly code?: unknown }
  return (
    code === 403 ||
    code === 530 ||
    /terminated by server: (?:403|530)|403 \(ACCESS.REFUSED\)/i.test(error.message)
  )
}
