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

/** How long to wait for the next suspect. A short time is harmless: it causes another round. */
const NEXT_SUSPECT_WAIT_MS = 100
const MAX_DRAINING_MS = 5_000

/**
 * Sees to it that nothing runs beside a suspect, and that none is even in our hands while others run: whatever the
 * process dies of then, it is known which message it was, and neither a suspect nor a neighbour is blamed for the other.
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

  /** One of them was handed over. */
  arrived(): void {
    this.#stopWaiting()
    this.#become('alone')
  }

  /** Nothing is being handled, and the server has heard what is to flow. */
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
