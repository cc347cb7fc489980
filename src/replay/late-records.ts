import { type Clock, monotonicNow } from '../ports/clock.ts'
import type { ReplayItem, Replays } from '../ports/replays.ts'
import { isGiven } from './fleet-items.ts'

/** The first look is when nothing is left to send. */
const LOOK_EVERY_MS = 10_000

/**
 * Finds items that are recorded as sent although no process sends them. An earlier runner wrote the record, and the store carried
 * it out long after that runner had lost its lease. By then the next runner had already looked for the items of the earlier one.
 */
export class LateRecords {
  readonly #replays: Pick<Replays, 'items'>
  readonly #id: string
  readonly #clock: Clock
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(replays: Pick<Replays, 'items'>, id: string, clock: Clock) {
    this.#replays = replays
    this.#id = id
    this.#clock = clock
  }

  /** Ask only while this run sends nothing. Its own items say then who has them, or `isKept` knows them. */
  async find(isKept: (item: ReplayItem) => boolean): Promise<readonly ReplayItem[]> {
    const now = monotonicNow(this.#clock)
    if (now - this.#lookedAt < LOOK_EVERY_MS) return []
    this.#lookedAt = now
    const sent = await this.#replays.items(this.#id, { status: 'sent' })
    return sent.filter(item => item.handedOn === undefined && !isGiven(item) && !isKept(item))
  }
}
