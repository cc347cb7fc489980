import { type Cancel, type Clock, monotonicNow } from '../ports/clock.ts'
import type { Claim, Ledger } from '../ports/ledger.ts'

/** The lease on work that one of several processes does. After a crash another process waits this long. */
export const LEASE_MS = 10_000
/**
 * Holders renew and others ask this often. Three renewals fit into a lease, so one that is late or fails does not lose
 * it. After a crash another process continues within `LEASE_MS + RENEW_MS`.
 */
export const RENEW_MS = 3_000

/** The name of a lease in a ledger. */
interface LeaseName {
  readonly handler: string
  readonly key: string
}

/** The answer to a claim: this process has the lease now, another one has it, or the work is done. */
type LeaseAnswer =
  | Exclude<Claim, { readonly kind: 'claimed' }>
  | { readonly kind: 'claimed'; readonly lease: HeldLease }

/** Claims the lease. A lease that it gets is renewed until it ends. */
export async function claimLease(ledger: Ledger, name: LeaseName, clock: Clock): Promise<LeaseAnswer> {
  const askedAt = monotonicNow(clock)
  const claim = await ledger.claim(name.handler, name.key, LEASE_MS)
  if (claim.kind !== 'claimed') return claim
  return { kind: 'claimed', lease: new HeldLease({ ledger, name, clock, token: claim.token, askedAt }) }
}

interface HeldLeaseOptions {
  readonly ledger: Ledger
  readonly name: LeaseName
  readonly clock: Clock
  readonly token: string
  /**
   * The time before the claim, by the clock that never steps. The lease begins after it, so it lasts at least as long as this
   * process assumes.
   */
  readonly askedAt: number
}

/**
 * A lease that this process has, and renews:
 *
 *   held ─complete or release▶ ended
 *     └─ taken by another, or not renewed in time ▶ lost
 *
 * `lost` aborts `RENEW_MS` before the lease can end, so that the work stops before another process starts it.
 */
export class HeldLease {
  readonly #options: HeldLeaseOptions
  readonly #lost = new AbortController()
  #cancelLoss: Cancel | undefined
  #cancelRenewal: Cancel | undefined
  #isEnded = false

  constructor(options: HeldLeaseOptions) {
    this.#options = options
    this.#heldSince(options.askedAt)
    this.#scheduleRenewal()
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /** Ends the lease: the work is done, and nobody does it again. */
  async complete(): Promise<void> {
    const { ledger, name, token } = this.#options
    if (this.#end()) await ledger.complete(name.handler, name.key, token)
  }

  /** Ends the lease, so that another process can have it at once. */
  async release(): Promise<void> {
    const { ledger, name, token } = this.#options
    if (this.#end()) await ledger.release(name.handler, name.key, token)
  }

  /** Returns whether the lease was held until now. */
  #end(): boolean {
    const wasHeld = !this.#isEnded
    this.#isEnded = true
    this.#cancelLoss?.()
    this.#cancelRenewal?.()
    return wasHeld
  }

  #lose(): void {
    if (this.#end()) this.#lost.abort()
  }

  #heldSince(askedAt: number): void {
    const { clock } = this.#options
    const elapsedMs = monotonicNow(clock) - askedAt
    this.#cancelLoss?.()
    this.#cancelLoss = clock.schedule(Math.max(0, LEASE_MS - RENEW_MS - elapsedMs), () => this.#lose())
  }

  #scheduleRenewal(): void {
    this.#cancelRenewal = this.#options.clock.schedule(RENEW_MS, () => void this.#renew())
  }

  async #renew(): Promise<void> {
    const { ledger, name, clock, token } = this.#options
    const askedAt = monotonicNow(clock)
    try {
      const isHeld = await ledger.renew(name.handler, name.key, token, LEASE_MS)
      if (this.#isEnded) return
      if (isHeld) this.#heldSince(askedAt)
      else this.#lose()
    } catch {
      // The store is unreachable. Unless a renewal succeeds in time, the lease is lost.
    }
    if (!this.#isEnded) this.#scheduleRenewal()
  }
}
