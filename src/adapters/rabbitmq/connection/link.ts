import { ClientMissingError, loadClient } from '../../../adapter-kit/load-client.ts'
import { ReconnectingClient } from '../../../adapter-kit/reconnecting-client.ts'
import { BrokerClosedError } from '../../../ports/broker.ts'
import { type Cancel, settlesWithin } from '../../../ports/clock.ts'
import { RabbitmqRefusedError, RabbitmqUnreachableError } from '../errors.ts'
import { type RabbitmqSettings, serverOf } from '../options.ts'
import type { AmqpClient, AmqpConnection } from './amqp.ts'
import { gatherWrites, isRefusedHandshake, keepRawHeaders, requireAnswers } from './amqplib-internals.ts'

/** The longest wait of a shutdown for one answer of the server. */
export const CLOSE_MS = 5_000
const CLOSE_CONNECTION_MS = 2_000

/**
 * The connection for one purpose, which reconnects automatically. Channels do not: the user of a channel opens a new
 * one on the next connection, and forgets the state of the old one.
 */
export class Link {
  readonly server: string
  readonly purpose: 'publishing' | 'consuming'
  readonly #settings: RabbitmqSettings
  readonly #connections: ReconnectingClient<AmqpConnection>
  readonly #listeners = new Set<(connection: AmqpConnection) => void>()

  constructor(settings: RabbitmqSettings, purpose: Link['purpose']) {
    this.#settings = settings
    this.server = serverOf(settings.url)
    this.purpose = purpose
    const { clock, random, reconnectBaseMs: baseMs, reconnectMaxMs: maxMs, onConnection } = settings
    this.#connections = new ReconnectingClient({
      clock,
      random,
      baseMs,
      maxMs,
      open: (lost, signal) => this.#open(lost, signal),
      discard: connection => void connection.close().catch(() => {}),
      isPermanent: (error, wasUp) =>
        !wasUp && (isRefusedHandshake(error) || error instanceof ClientMissingError),
      onUp: connection => {
        onConnection({ state: 'up', purpose })
        for (const listener of this.#listeners) listener(connection)
      },
      onDown: error => onConnection({ state: 'down', purpose, error }),
    })
  }

  /** Calls the listener with every new connection, from the next one on. */
  onUp(listener: (connection: AmqpConnection) => void): Cancel {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The connection there is, or the next one, if it comes within this time. */
  get(limitMs: number): Promise<AmqpConnection> {
    const connections = this.#connections
    if (connections.current !== undefined) return Promise.resolve(connections.current)
    if (connections.isClosed) return Promise.reject(this.#whyNone())
    return new Promise((resolve, reject) => {
      const cancelLimit = this.#settings.clock.schedule(limitMs, () => {
        stopWaiting()
        const problem = `no connection within ${limitMs} ms: ${connections.problem.message}`
        reject(new RabbitmqUnreachableError(this.server, problem))
      })
      const stopWaiting = connections.onNext(connection => {
        cancelLimit()
        if (connection === undefined) reject(this.#whyNone())
        else resolve(connection)
      })
    })
  }

  /** A server that does not answer must not hold up a shutdown. */
  async close(): Promise<void> {
    const connection = this.#connections.close()
    if (connection !== undefined)
      await settlesWithin(this.#settings.clock, CLOSE_CONNECTION_MS, connection.close())
  }

  #whyNone(): Error {
    const { isClosed, problem } = this.#connections
    if (isClosed) return new BrokerClosedError(this.#settings.name)
    return isRefusedHandshake(problem)
      ? new RabbitmqRefusedError(this.server, problem.message, problem)
      : problem
  }

  async #open(lost: (error: Error) => void, signal: AbortSignal): Promise<AmqpConnection> {
    const { url, heartbeatSeconds, connectTimeoutMs, confirmTimeoutMs, clock, name } = this.#settings
    const address = new URL(url)
    if (!address.searchParams.has('heartbeat'))
      address.searchParams.set('heartbeat', String(heartbeatSeconds))
    const client = this.#settings.client ?? (await loadAmqplib())
    const connection = await client.connect(address.href, {
      timeout: connectTimeoutMs,
      // For the socket: a server that never answers would keep a closed process alive until the timeout.
      signal,
      noDelay: true,
      clientProperties: { connection_name: `${name} ${this.purpose}` },
    })
    gatherWrites(connection)
    if (this.purpose === 'consuming') keepRawHeaders(connection)
    else requireAnswers(connection, clock, confirmTimeoutMs)
    let problem: Error | undefined
    connection.on('error', (error: Error) => {
      problem = error
    })
    connection.on('close', (error?: Error) =>
      lost(problem ?? error ?? new Error('the server closed the connection')),
    )
    return connection
  }
}

async function loadAmqplib(): Promise<AmqpClient> {
  const module: unknown = await loadClient('amqplib', () => import('amqplib'))
  return ((module as { default?: AmqpClient }).default ?? module) as AmqpClient
}
