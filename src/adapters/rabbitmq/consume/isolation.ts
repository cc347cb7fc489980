import type { Cancel, Clock } from '../../../ports/clock.ts'

/**
 * What flows from the server.
 * - `all`: the queue, and a watch on its suspects.
 * - `draining`: a suspect came while others were being handled. Nothing more comes until they have ended, or until it
 *   has taken too long: a slow handler must not stop everything.
 * - `alone`: suspects, one at a time, and nothing beside them.
 *
 * all ─a suspect comes▶ draining ─nothing is being handled▶ alone ─no suspect for a while▶ all
 */
export type Flow = 'all' | 'draining' | 'alone'

/** How long the next suspect is waited for. Too short is no harm: it makes another round. */
const LINGER_MS = 100
const MOST_DRAINING_MS = 5_000

/**
 * Sees to it that nothing runs beside a suspect: if the process dies then, it is known which message it was, and the
 * neighbours of a deadly one are never blamed for it.
 */
export class Isolation {
  readonly #clock: Clock
  readonly #changed: () => void
  #flow: Flow = 'all'
  #stopWaiting: Cancel = () => {}

  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock
    this.#changed = changed
  }

  get flow(): Flow {
    return this.#flow
  }

  /** A suspect has come. True when it is alone and may run. */
  admits(isBusy: boolean): boolean {
    if (this.#flow === 'alone' || !isBusy) {
      this.#stopWaiting()
      this.#become('alone')
      return true
    }
    if (this.#flow === 'all') {
      this.#wait(MOST_DRAINING_MS, 'alone')
      this.#become('draining')
    }
    return false
  }

  /** Nothing is being handled any more. */
  rest(): void {
    if (this.#flow === 'all') return
    this.#wait(LINGER_MS, 'all')
    this.#become('alone')
  }

  end(): void {
    this.#stopWaiting()
  }

  #wait(limitMs: number, next: Flow): void {
    this.#stopWaiting()
    this.#stopWaiting = this.#clock.schedule(limitMs, () => this.#become(next))
  }

  #become(flow: Flow): void {
    if (this.#flow === flow) return
    this.#flow = flow
    this.#changed()
  }
}
