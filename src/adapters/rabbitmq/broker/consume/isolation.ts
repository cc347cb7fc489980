import type { Cancel, Clock } from '../../../../ports/clock.ts'

/**
 * What flows from the server.
 * - `all`: the queue, while a watch is kept on its suspects.
 * - `draining`: suspects wait, and others are being handled. Nothing more comes until these have ended, or until they
 *   have taken too long: a slow handler must not stop everything.
 * - `alone`: suspects, one at a time, and nothing beside them.
 * - `leaving`: no suspect came for a while. Nothing comes until the server has heard so.
 *
 * all ─suspects wait▶ draining ─nothing is being handled▶ alone ─none for a while▶ leaving ─still none▶ all
 */
type IsolationState = 'all' | 'draining' | 'alone' | 'leaving'

/** The wait for the next suspect. A short wait is harmless, because it only causes another round. */
const NEXT_SUSPECT_WAIT_MS = 100
const MAX_DRAINING_MS = 5_000

/**
 * Ensures that a suspect runs alone, and that this process holds no suspect while others run. If the process then
 * crashes, the responsible message is known, and no other message is blamed.
 */
export class Isolation {
  readonly #clock: Clock
  readonly #changed: () => void
  #state: IsolationState = 'all'
  #stopWaiting: Cancel = () => {}

  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock
    this.#changed = changed
  }

  get state(): IsolationState {
    return this.#state
  }

  /** The server holds suspects. */
  suspectsWait(isBusy: boolean): void {
    if (this.#state !== 'all') return
    if (isBusy) this.#wait(MAX_DRAINING_MS, 'alone')
    this.#become(isBusy ? 'draining' : 'alone')
  }

  /** A suspect was delivered. */
  arrived(): void {
    this.#stopWaiting()
    this.#become('alone')
  }

  /** No message is being handled, and the server knows what to deliver. */
  rest(): void {
    if (this.#state === 'draining') this.arrived()
    else if (this.#state === 'alone') this.#wait(NEXT_SUSPECT_WAIT_MS, 'leaving')
    else this.#become('all')
  }

  end(): void {
    this.#stopWaiting()
  }

  #wait(limitMs: number, next: IsolationState): void {
    this.#stopWaiting()
    this.#stopWaiting = this.#clock.schedule(limitMs, () => this.#become(next))
  }

  #become(state: IsolationState): void {
    if (this.#state === state) return
    this.#state = state
    this.#changed()
  }
}
