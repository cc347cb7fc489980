import type { Cancel } from '../../ports/clock.ts'
import { createOwnClient, type RedisClient } from './client.ts'
import { ClientMissingError } from './errors.ts'
import { type RedisConnectionSettings, serverOf } from './options.ts'

/**
 * - `idle`: nobody has asked for it yet.
 * - `connecting`: on its way, or waiting for the next try.
 * - `up`: there is a connection.
 * - `closed`: for good.
 */
type State =
  | { readonly is: 'idle' }
  | { readonly is: 'connecting'; readonly client: RedisClient | undefined; readonly cancel: Cancel }
  | { readonly is: 'up'; readonly client: RedisClient }
  | { readonly is: 'closed' }

const NOTHING_TO_CANCEL: Cancel = () => {}

/** A connection of our own, which comes back by itself. Each one is a client of its own, so nothing of the old is left. */
export class Link {
  readonly #settings: RedisConnectionSettings & { readonly url: string }
  readonly #purpose: string
  readonly #waiting = new Set<(outcome: RedisClient | Error) => void>()
  #state: State = { is: 'idle' }
  #problem: Error = new Error('no connection yet')

  constructor(settings: RedisConnectionSettings & { readonly url: string }, purpose: string) {
    this.#settings = settings
    this.#purpose = purpose
  }

  /** The connection there is at this moment. */
  get ready(): RedisClient | undefined {
    return this.#state.is === 'up' ? this.#state.client : undefined
  }

  /** Why there is none. */
  get problem(): Error {
    const { message } = this.#problem
    return new Error(`no connection to ${serverOf(this.#settings.url)}: ${message}`, { cause: this.#problem })
  }

  /** Told once: of the next connection, or of what makes waiting for one hopeless. */
  onReady(told: (outcome: RedisClient | Error) => void): Cancel {
    this.#waiting.add(told)
    if (this.#state.is === 'idle') this.#connect(0)
    return () => this.#waiting.delete(told)
  }

  /** It is not to be trusted any more: a new one is made. */
  drop(client: RedisClient, why: Error): void {
    if (this.#state.is !== 'up' || this.#state.client !== client) return
    client.destroy()
    this.#down(why)
  }

  close(): void {
    const state = this.#state
    this.#state = { is: 'closed' }
    if (state.is === 'connecting') state.cancel()
    if (state.is === 'connecting' || state.is === 'up') state.client?.destroy()
  }

  #connect(tries: number): void {
    this.#state = { is: 'connecting', client: undefined, cancel: NOTHING_TO_CANCEL }
    this.#open(tries).catch((error: unknown) => this.#failed(error as Error, tries))
  }

  async #open(tries: number): Promise<void> {
    const { url, name, clock, timeoutMs } = this.#settings
    const client = await createOwnClient({
      url,
      name: `${name}-${this.#purpose}`.replaceAll(/[^!-~]/g, '_'),
      connectTimeoutMs: timeoutMs,
    })
    if (this.#state.is !== 'connecting') return
    // A server that is frozen takes the connection, and never answers on it.
    const cancel = clock.schedule(timeoutMs, () => {
      client.destroy()
      this.#failed(new Error(`no answer within ${timeoutMs} ms`), tries)
    })
    this.#state = { is: 'connecting', client, cancel }
    client.on('error', (error: Error) => this.#lost(client, error))
    client.on('end', () => this.#lost(client, new Error('the connection was closed')))
    try {
      await client.connect()
      if (this.#state.is === 'connecting' && this.#state.client === client) this.#up(client)
    } catch (error) {
      if (this.#state.is === 'connecting' && this.#state.client === client) throw error
    } finally {
      cancel()
    }
  }

  #up(client: RedisClient): void {
    this.#state = { is: 'up', client }
    this.#tell(client)
  }

  #lost(client: RedisClient, error: Error): void {
    if (this.#state.is === 'up' && this.#state.client === client) this.#down(error)
  }

  #down(error: Error): void {
    this.#settings.onError(error)
    this.#problem = error
    this.#wait(0)
  }

  #failed(error: Error, tries: number): void {
    if (this.#state.is !== 'connecting') return
    this.#problem = error
    if (error instanceof ClientMissingError) {
      this.#state = { is: 'idle' }
      this.#tell(error)
    } else this.#wait(tries + 1)
  }

  #tell(outcome: RedisClient | Error): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const told of waiting) told(outcome)
  }

  /** With jitter: when a server comes back, not all of its clients come at once. */
  #wait(tries: number): void {
    const { clock, random, reconnectBaseMs, reconnectMaxMs } = this.#settings
    const most = Math.min(reconnectMaxMs, reconnectBaseMs * 2 ** Math.min(tries, 30))
    const cancel = clock.schedule(Math.ceil(most * (0.5 + random() / 2)), () => this.#connect(tries))
    this.#state = { is: 'connecting', client: undefined, cancel }
  }
}
