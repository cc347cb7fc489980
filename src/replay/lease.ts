import { LEASE_MS, RENEW_MS } from '../operations/held-lease.ts'
import { monotonicNow } from '../ports/clock.ts'
import type { Store } from '../ports/store.ts'
import type { ReplayEnvironment } from './target.ts'

/** A runner keeps its lease during one send for this long. After that it hangs, and another one may take over. */
const MAX_SEND_MS = 30_000

/** The lease of one run on a replay. Each run has its own holder id, because two runs may have the same owner name. */
export class Lease {
  readonly #replays: Store['replays']
  readonly #id: string
  readonly #clock: ReplayEnvironment['clock']
  readonly #holder: string
  #heldAt: number | undefined
  #isLost = false
  #isOver = false

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

  /** The lease was not renewed in time. Another run may have had the replay meanwhile, also if this one gets it back. */
  get hasRunOut(): boolean {
    return this.#heldAt !== undefined && monotonicNow(this.#clock) - this.#heldAt >= LEASE_MS
  }

  /** Ends the run: what it knows of the items is old. */
  end(): void {
    this.#isOver = true
  }

  async take(): Promise<boolean> {
    // The time before the call. The lease begins after it, so it lasts at least as long as this process assumes.
    const at = monotonicNow(this.#clock)
    const isOurs = await this.#replays.lease(this.#id, this.#holder, LEASE_MS)
    this.#heldAt = at
    this.#isLost = !isOurs
    return isOurs
  }

  /** Returns whether the run still has the lease. Called before every step that must not happen twice; renews when due. */
  async keep(): Promise<boolean> {
    if (this.#isLost || this.#isOver) return false
    const isFresh = this.#heldAt !== undefined && monotonicNow(this.#clock) - this.#heldAt < RENEW_MS
    return isFresh || (await this.take())
  }

  /** Keeps the lease while an event is sent, because a slow receiver takes longer than a lease lasts. */
  async during(send: () => Promise<void>): Promise<void> {
    const startedAt = monotonicNow(this.#clock)
    let renewal: Promise<unknown> = Promise.resolve()
    const renewLater = () =>
      this.#clock.schedule(RENEW_MS, () => {
        if (this.#isLost || monotonicNow(this.#clock) - startedAt >= MAX_SEND_MS) return
        // When the store is unreachable, the next step finds out whether the lease is lost.
        renewal = this.take().catch(() => {})
        cancel = renewLater()
      })
    let cancel = renewLater()
    try {
      await send()
    } finally {
      cancel()
      await renewal
    }
  }

  release(): Promise<void> {
    return this.#replays.releaseLease(this.#id, this.#holder)
  }
}
