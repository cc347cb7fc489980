import type { Random } from '../core/random.ts'
import { type Cancel, type Clock, equalJitter } from '../ports/clock.ts'

interface ReconnectingClientOptions<C> {
  /** Supplies the time and the timers. */
  readonly clock: Clock
  /** Supplies random numbers from 0 up to 1, for the jitter of the waits. */
  readonly random: Random
  /** The longest wait before the first attempt to reconnect, in ms. The wait doubles with every failed attempt. */
  readonly baseMs: number
  /** The longest wait before any attempt to reconnect, in ms. At least half of a wait passes; the rest is random. */
  readonly maxMs: number
  /**
   * Opens one connection. `lost` is called when that connection breaks later. The signal is aborted when the connection
   * is not wanted any more; `open` then closes what it has opened so far and rejects.
   */
  open(lost: (error: Error) => void, signal: AbortSignal): Promise<C>
  /** Closes a connection at once. It was dropped, or it came too late. */
  discard(connection: C): void
  /** Whether a failure will not go away by trying again, such as a wrong password on the first try. */
  isPermanent(error: Error, wasUp: boolean): boolean
  /** Receives each new connection before anyone else gets it [none]. */
  readonly onUp?: ((connection: C) => void) | undefined
  /** Receives the error of each lost connection [none]. */
  readonly onDown?: ((error: Error) => void) | undefined
}

/**
 * - `idle`: nobody has asked for a connection yet, or the last attempt failed permanently.
 * - `connecting`: a try runs, or the next one waits for its time.
 * - `up`: there is a connection.
 * - `closed`: there will be no connection any more.
 */
type State<C> =
  | { readonly is: 'idle' }
  | { readonly is: 'connecting'; readonly cancel: Cancel }
  | { readonly is: 'up'; readonly connection: C }
  | { readonly is: 'closed' }

interface Waiter<C> {
  readonly tell: (connection: C | undefined) => void
  readonly isHasty: boolean
}

/**
 * A connection that is opened when it is first needed, and opened again with backoff and jitter whenever it is lost. Each
 * connection is a new object: whatever belonged to the old one, such as a channel, is gone with it.
 */
export class ReconnectingClient<C> {
  readonly #options: ReconnectingClientOptions<C>
  readonly #waiters = new Set<Waiter<C>>()
  #state: State<C> = { is: 'idle' }
  #problem: Error = new Error('no connection yet')
  #wasUp = false

  constructor(options: ReconnectingClientOptions<C>) {
    this.#options = options
  }

  /** The connection there is at this moment. */
  get current(): C | undefined {
    return this.#state.is === 'up' ? this.#state.connection : undefined
  }

  /** There was a connection, and the next one is not there yet. */
  get isLost(): boolean {
    return this.#wasUp && this.#state.is !== 'up'
  }

  get isClosed(): boolean {
    return this.#state.is === 'closed'
  }

  /** Why there is no connection. */
  get problem(): Error {
    return this.#problem
  }

  /**
   * Calls `tell` once: with the next connection, or with undefined when there will be none. A hasty waiter gets undefined
   * from the first try that fails.
   */
  onNext(tell: (connection: C | undefined) => void, isHasty = false): Cancel {
    const waiter = { tell, isHasty }
    this.#waiters.add(waiter)
    if (this.#state.is === 'idle') this.#connect(0)
    return () => this.#waiters.delete(waiter)
  }

  /** Replaces a connection that works no more. */
  drop(connection: C, problem: Error): void {
    if (this.#state.is !== 'up' || this.#state.connection !== connection) return
    // In this order, so that the end of the discarded connection is not taken for another loss.
    this.#down(problem)
    this.#options.discard(connection)
  }

  /** Ends it for good. Answers the connection there was, which the caller closes in its own way. */
  close(): C | undefined {
    const state = this.#state
    this.#state = { is: 'closed' }
    if (state.is === 'connecting') state.cancel()
    this.#tell(undefined, () => true)
    return state.is === 'up' ? state.connection : undefined
  }

  #connect(tries: number): void {
    const controller = new AbortController()
    const cancel = () => controller.abort()
    this.#state = { is: 'connecting', cancel }
    const isWanted = () => !controller.signal.aborted && this.#state.is === 'connecting'
    let connection: C | undefined
    let lostEarly: Error | undefined
    const lost = (error: Error) => {
      lostEarly = error
      if (this.#state.is === 'up' && this.#state.connection === connection) this.#down(error)
    }
    this.#options.open(lost, controller.signal).then(
      opened => {
        connection = opened
        if (!isWanted()) this.#options.discard(opened)
        else if (lostEarly !== undefined) this.#failed(lostEarly, tries)
        else this.#up(opened)
      },
      (error: unknown) => {
        if (isWanted()) this.#failed(error as Error, tries)
      },
    )
  }

  #up(connection: C): void {
    this.#state = { is: 'up', connection }
    this.#wasUp = true
    this.#options.onUp?.(connection)
    this.#tell(connection, () => true)
  }

  #down(error: Error): void {
    this.#problem = error
    this.#wait(0)
    this.#options.onDown?.(error)
  }

  #failed(error: Error, tries: number): void {
    this.#problem = error
    const isHopeless = this.#options.isPermanent(error, this.#wasUp)
    if (isHopeless) this.#state = { is: 'idle' }
    else this.#wait(tries + 1)
    this.#tell(undefined, ({ isHasty }) => isHasty || isHopeless)
  }

  /** With jitter, so that not all clients come back at the same moment as their server. */
  #wait(tries: number): void {
    const { clock, random, baseMs, maxMs } = this.#options
    const longest = Math.min(maxMs, baseMs * 2 ** Math.min(tries, 30))
    const cancel = clock.schedule(equalJitter(random, longest), () => this.#connect(tries))
    this.#state = { is: 'connecting', cancel }
  }

  #tell(connection: C | undefined, whom: (waiter: Waiter<C>) => boolean): void {
    const waiters = [...this.#waiters].filter(whom)
    for (const waiter of waiters) this.#waiters.delete(waiter)
    for (const { tell } of waiters) tell(connection)
  }
}
