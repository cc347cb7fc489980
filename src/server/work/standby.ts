import type { Cancel, Clock } from '../../ports/clock.ts'
import type { Ledger } from '../../ports/ledger.ts'

const LEASE_MS = 30_000
/** Thrice in a lease: one that is late, or does not get through, costs nobody their turn. */
const LOOK_EVERY_MS = LEASE_MS / 3
/** The name that servers claim under; what they claim is the key. */
const SERVERS = 'lazaret server'

/** What one server does at a time. `stop` resolves when nothing of it is under way any more. */
export interface Duty {
  readonly name: string
  start(): void
  stop(): Promise<void>
}

/** Starts a duty in one server of all that share the ledger; the function returned ends it. */
export function startDuty(duty: Duty, ledger: Ledger | undefined, clock: Clock): () => Promise<void> {
  // A store without a ledger is a folder of files, which has one server.
  if (ledger === undefined) {
    duty.start()
    return () => duty.stop()
  }
  const standby = new Standby(duty, ledger, clock)
  standby.begin()
  return () => standby.end()
}

/**
 * Of all servers that share a store, one has the duty and the others stand by:
 *
 *   standing by ─claimed▶ on duty ─lease lost, or not renewed in time▶ stopping ─▶ standing by
 *
 * The lease is a claim in the store's ledger. Whoever cannot renew it stops before it can have run out, so that two never
 * do it at once.
 */
export class Standby {
  readonly #duty: Duty
  readonly #ledger: Ledger
  readonly #clock: Clock
  #token: string | undefined
  #cancelLook: Cancel | undefined
  #cancelStop: Cancel | undefined
  #looking: Promise<void> = Promise.resolve()
  #isOver = false

  constructor(duty: Duty, ledger: Ledger, clock: Clock) {
    this.#duty = duty
    this.#ledger = ledger
    this.#clock = clock
  }

  begin(): void {
    this.#looking = this.#look().finally(() => {
      if (!this.#isOver) this.#cancelLook = this.#clock.schedule(LOOK_EVERY_MS, () => this.begin())
    })
  }

  /** The next one can go on at once. */
  async end(): Promise<void> {
    this.#isOver = true
    this.#cancelLook?.()
    await this.#looking
    const token = this.#token
    if (token === undefined) return
    await this.#stop()
    await this.#ledger.release(SERVERS, this.#duty.name, token).catch(() => false)
  }

  async #look(): Promise<void> {
    const token = this.#token
    try {
      if (token === undefined) await this.#claim()
      else if (!(await this.#ledger.renew(SERVERS, this.#duty.name, token, LEASE_MS))) await this.#stop()
      else if (this.#token === token) this.#hold()
    } catch {
      // The store is away. If it stays away, it is not held any more.
    }
  }

  async #claim(): Promise<void> {
    const claim = await this.#ledger.claim(SERVERS, this.#duty.name, LEASE_MS)
    if (claim.kind !== 'claimed') return
    this.#token = claim.token
    this.#hold()
    this.#duty.start()
  }

  /** Long enough before the lease can have run out, there is time to stop. */
  #hold(): void {
    this.#cancelStop?.()
    this.#cancelStop = this.#clock.schedule(LEASE_MS - LOOK_EVERY_MS, () => void this.#stop())
  }

  async #stop(): Promise<void> {
    this.#cancelStop?.()
    this.#token = undefined
    await this.#duty.stop()
  }
}
