import type { Store } from '../ports/store.ts'
import type { ReplayEnvironment } from './target.ts'

const LEASE_MS = 30_000
/** Renewed when so much of it is over; nothing waits for longer without looking. */
export const RENEW_MS = LEASE_MS / 3

/** A replay as one run has it. Each run is a holder of its own: two that go by one name are still two. */
export class Lease {
  readonly #replays: Store['replays']
  readonly #id: string
  readonly #clock: ReplayEnvironment['clock']
  readonly #holder: string
  #heldAt = 0
  #isLost = false

  constructor({ replays }: Store, id: string, owner: string, { clock, newId }: ReplayEnvironment) {
    this.#replays = replays
    this.#id = id
    this.#clock = clock
    this.#holder = `${owner} ${newId(clock.now()).slice(-12)}`
  }

  /** Someone else has it by now, and goes on from what is written down. */
  get isLost(): boolean {
    return this.#isLost
  }

  async take(): Promise<boolean> {
    // The time before asking: the lease may have begun any moment after it, so it lasts at least as long as thought.
    const at = this.#clock.now()
    const isOurs = await this.#replays.lease(this.#id, this.#holder, LEASE_MS)
    this.#heldAt = at
    this.#isLost = !isOurs
    return isOurs
  }

  /** Asked before everything that must not be done twice; asks the store only when it is time to renew. */
  async keep(): Promise<boolean> {
    if (this.#isLost) return false
    const heldMs = this.#clock.now() - this.#heldAt
    return (heldMs >= 0 && heldMs < RENEW_MS) || (await this.take())
  }

  release(): Promise<void> {
    return this.#replays.releaseLease(this.#id, this.#holder)
  }
}
