import type { Store } from '../ports/store.ts'
import type { ReplayEnvironment } from './target.ts'

const LEASE_MS = 30_000
/** The lease is renewed after a third of its time. No wait of a runner is longer than this. */
export const RENEW_MS = LEASE_MS / 3

/** The lease of one run on a replay. Each run has its own holder id, because two runs may have the same owner name. */
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

  /** Another run has the lease, and continues from the stored items. */
  get isLost(): boolean {
    return this.#isLost
  }

  async take(): Promise<boolean> {
    // The time before the call. The lease begins after it, so it lasts at least as long as this process assumes.
    const at = this.#clock.now()
    const isOurs = await this.#replays.lease(this.#id, this.#holder, LEASE_MS)
    this.#heldAt = at
    this.#isLost = !isOurs
    return isOurs
  }

  /** Returns whether the run still has the lease. Called before every step that must not happen twice; renews when due. */
  async keep(): Promise<boolean> {
    if (this.#isLost) return false
    const heldMs = this.#clock.now() - this.#heldAt
    return (heldMs >= 0 && heldMs < RENEW_MS) || (await this.take())
  }

  release(): Promise<void> {
    return this.#replays.releaseLease(this.#id, this.#holder)
  }
}
