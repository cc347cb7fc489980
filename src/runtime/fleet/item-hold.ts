import { isTakenBy } from '../../core/dead-letter/change.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { type Clock, monotonicNow } from '../../ports/clock.ts'
import type { DeadLetterStore } from '../../ports/dead-letters.ts'
import type { ReplayItem, Replays } from '../../ports/replays.ts'
import type { LetterHold } from '../dispatcher/letter-hold.ts'

/**
 * The time for which a process may begin to send after it has asked the store whether an item is its own. A runner that takes
 * an item back changes it in the store first, and waits longer than this before anyone else sends it.
 */
export const HOLD_MS = 2_000

/**
 * The right of this process to send an item, under one delivery. The time is counted from the question, because nobody knows
 * how long the answer was on its way, and by the clock that never steps. So neither a stall nor a change of the clock makes
 * an old answer look new.
 */
export class ItemHold implements LetterHold {
  readonly #replays: Pick<Replays, 'items'>
  readonly #letters: Pick<DeadLetterStore, 'get'>
  readonly #of: { readonly replay: string; readonly delivery: string; readonly position: number }
  readonly #clock: Clock
  #askedAt: number
  #next: LetterHold | undefined

  /** `askedAt`: when this process asked the store to write down that the item is its own, if it did. */
  constructor(
    replays: Pick<Replays, 'items'>,
    letters: Pick<DeadLetterStore, 'get'>,
    of: { readonly replay: string; readonly delivery: string; readonly position: number },
    clock: Clock,
    askedAt = Number.NEGATIVE_INFINITY,
  ) {
    this.#askedAt = askedAt
    this.#replays = replays
    this.#letters = letters
    this.#of = of
    this.#clock = clock
  }

  get isSure(): boolean {
    if (this.#next !== undefined) return this.#next.isSure
    return monotonicNow(this.#clock) - this.#askedAt < HOLD_MS
  }

  async confirm(): Promise<boolean> {
    const isHeld = this.#next === undefined && (await this.read()) !== undefined
    // The process may have got the letter again while the store answered.
    return this.#next === undefined ? isHeld : this.#next.confirm()
  }

  follow(hold: LetterHold): void {
    if (this.#next === undefined) this.#next = hold
    else this.#next.follow(hold)
  }

  /** The item and its letter; undefined if this process is not to send it, or not any more. */
  async read(): Promise<{ readonly item: ReplayItem; readonly letter: DeadLetter } | undefined> {
    const { replay, delivery, position } = this.#of
    const askedAt = monotonicNow(this.#clock)
    const [item] = await this.#replays.items(replay, { after: position - 1, limit: 1 })
    if (item?.position !== position || item.status !== 'sent' || item.delivery !== delivery) return undefined
    const letter = await this.#letters.get(item.letterId)
    if (letter === undefined || !isTakenBy(letter, replay)) return undefined
    this.#askedAt = askedAt
    return { item, letter }
  }
}
