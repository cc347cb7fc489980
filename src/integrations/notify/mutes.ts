import { type Clock, settlesWithin } from '../../ports/clock.ts'
import type { Groups } from '../../ports/groups.ts'

/** The time for which the state of a group is cached. */
const CACHE_MS = 10_000
const ANSWER_WITHIN_MS = 2_000
const MAX_KNOWN = 1_000

interface CachedGroup {
  readonly at: number
  readonly isMuted: Promise<boolean>
}

/** Whether a group is muted. If the store is unavailable the group counts as not muted, because a missed alert does more harm. */
export class Mutes {
  readonly #groups: Pick<Groups, 'get'>
  readonly #clock: Clock
  readonly #known = new Map<string, CachedGroup>()

  constructor(groups: Pick<Groups, 'get'>, clock: Clock) {
    this.#groups = groups
    this.#clock = clock
  }

  isMuted(group: string): Promise<boolean> {
    const now = this.#clock.now()
    const known = this.#known.get(group)
    // The absolute value limits the age even if the clock was set back.
    if (known !== undefined && Math.abs(now - known.at) < CACHE_MS) return known.isMuted
    const isMuted = this.#ask(group)
    this.#known.delete(group)
    this.#known.set(group, { at: now, isMuted })
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MAX_KNOWN) break
      this.#known.delete(oldest)
    }
    return isMuted
  }

  async #ask(id: string): Promise<boolean> {
    let isMuted = false
    const asked = Promise.resolve()
      .then(() => this.#groups.get(id))
      .then(group => {
        isMuted = group?.state === 'muted'
      })
    await settlesWithin(this.#clock, ANSWER_WITHIN_MS, asked)
    return isMuted
  }
}
