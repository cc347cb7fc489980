import { DEFAULT_MASKS, type Masks } from '../core/dead-letter/masks.ts'
import { maskProblemReason } from '../operations/mask-replay.ts'
import type { Clock } from '../ports/clock.ts'
import type { Replay } from '../ports/replays.ts'
import type { Store } from '../ports/store.ts'
import { changeReplay } from './control.ts'
import { ReplayUndeliveredError } from './errors.ts'

/** A run ends when processes of the fleet have failed for this long and sent nothing. */
const UNDELIVERED_MS = 60_000

/**
 * Tells in the replay why no process of the fleet sends its letters, until one of them does. A process may fail for a moment.
 * A run that only waits for one that always fails would never say why, so it ends after a minute. The replay keeps the problem
 * then, and the next run continues.
 */
export class DeliveryProblem {
  readonly #store: Store
  readonly #clock: Clock
  readonly #masks: Masks
  /** When a process failed to send, if none has sent a letter since. */
  #since: number | undefined

  constructor(store: Store, clock: Clock, masks: Masks = DEFAULT_MASKS) {
    this.#store = store
    this.#clock = clock
    this.#masks = masks
  }

  /**
   * Throws ReplayUndeliveredError once it has lasted too long. The store keeps the reason as it is, and those who show it mask
   * it. The error goes to logs and terminals, so it is masked here.
   */
  async tell(replay: Replay, reason: string): Promise<void> {
    const { id, problem } = replay
    const now = this.#clock.now()
    this.#since ??= now
    const since = problem?.since ?? this.#since
    if (problem?.reason !== reason)
      await changeReplay(this.#store, id, ({ state }) =>
        state === 'running' ? { problem: { reason, since } } : undefined,
      )
    // The absolute difference also covers a clock that was set back.
    if (Math.abs(now - this.#since) >= UNDELIVERED_MS)
      throw new ReplayUndeliveredError(id, await maskProblemReason(this.#store, replay, reason, this.#masks))
  }

  /** A letter was sent, or nobody has failed. */
  async clear({ id, problem }: Replay): Promise<void> {
    this.#since = undefined
    if (problem !== undefined)
      await changeReplay(this.#store, id, replay =>
        replay.problem === undefined ? undefined : { problem: undefined },
      )
  }
}
