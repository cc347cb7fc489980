import { about, type Cancel } from '../../../ports/clock.ts'
import { ClientMissingError, isReplyError, RedisError } from '../errors.ts'
import { type RedisConnectionSettings, serverOf } from '../options.ts'
import { createOwnClient, type RedisClient } from './client.ts'

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
  readonly #waiting = new Map<(client: RedisClient | undefined) => void, { readonly isHasty: boolean }>()
  #state: State = { is: 'idle' }
  #problem: Error = new Error('no answer yet')
  #wasUp = false

  constructor(settings: RedisConnectionSettings & { readonly url: string }, purpose: string) {
    this.#settings = settings
    this.#purpose = purpose
  }

  /** The connection there is at this moment. */
  get ready(): RedisClient | undefined {
    return this.#state.is === 'up' ? this.#state.client : undefined
  }

  /** There was one, and the next is not there yet. */
  get isLost(): boolean {
    return this.#wasUp && this.#state.is !== 'up'
  }

  /** Why there is none, told to whoever was doing this. */
  problem(doing: string): Error {
    const problem = this.#problem
    const { message } = problem
    if (problem instanceof ClientMissingError) return problem
    // The server is there and does not let us in.
    if (isReplyError(problem)) return new RedisError(doing, 'reply', problem)
    const said = `no connection to ${serverOf(this.#settings.url)}: ${message}`
    return new RedisError(doing, 'unreachable', new Error(said, { cause: problem }))
  }

  /**
   * Told once: of the next connection, or of nothing when waiting for one is hopeless. Whoever is hasty is told so by the first
   * try that fails.
   */
  onReady(told: (client: RedisClient | undefined) => void, isHasty: boolean): Cancel {
    this.#waiting.set(told, { isHasty })
    if (this.#state.is === 'idle') this.#connect(0)
    return () => this.#waiting.delete(told)
  }

  /** It is not to be trusted any more: a new one is made. */
  drop(client: RedisClient, why: Error): void {
    if (this.#state.is !== 'up' || this.#state.client !== client) return
    // In this order: that it ends is no news then, and it is replaced once.
    this.#down(why)
    client.destroy()
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
      else client.destroy()
    } catch (error) {
      if (this.#state.is === 'connecting' && this.#state.client === client) throw error
    } finally {
      cancel()
    }
  }

  #up(client: RedisClient): void {
    this.#state = { is: 'up', client }
    this.#wasUp = true
    this.#tell(client, () => true)
  }

  #lost(client: RedisClient, error: Error): void {
    if (this.#state.is === 'up' && this.#state.client === client) this.#down(error)
  }

  #down(error: Error): void {
    this.#settings.onError(error)
    this.#problem = error
    this.#wait(0)
  }

  /** Who was never let in will not be by asking again; who was before waits for the server to change its mind. */
  #failed(error: Error, tries: number): void {
    if (this.#state.is !== 'connecting') return
    this.#problem = error
    const isHopeless = error instanceof ClientMissingError || (!this.#wasUp && isReplyError(error))
    if (isHopeless) this.#state = { is: 'idle' }
    else this.#wait(tries + 1)
    this.#tell(undefined, ({ isHasty }) => isHasty || isHopeless)
  }

  #tell(client: RedisClient | undefined, whom: (waiter: { readonly isHasty: boolean }) => boolean): void {
    const telling = [...this.#waiting].filter(([, waiter]) => whom(waiter))
    for (const [told] of telling) this.#waiting.delete(told)
    for (const [told] of telling) told(client)
  }

  /** With jitter: when a server comes back, not all of its clients come at once. */
  #wait(tries: number): void {
    const { clock, random, reconnectBaseMs, reconnectMaxMs } = this.#settings
    const most = Math.min(reconnectMaxMs, reconnectBaseMs * 2 ** Math.min(tries, 30))
    const cancel = clock.schedule(about(random, most), () => this.#connect(tries))
    this.#state = { is: 'connecting', client: undefined, cancel }
  }
}
