/**
 * Decides whether this process may treat an expired lease of another process as a crash. After an outage of the server
 * every lease has expired, and the first process that reconnects would take all others for dead. So a process may judge
 * others only after it has renewed its own lease in time for the length of a whole lease. This proves that the server was
 * reachable, and that the other process did not renew.
 */
export class LeaseWitness {
  readonly #leaseMs: number
  #since = Number.POSITIVE_INFINITY
  #latest = Number.NEGATIVE_INFINITY

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs
  }

  /** Records that the lease was renewed or created. */
  renewed(now: number): void {
    if (!this.#isInTime(now)) this.#since = now
    this.#latest = now
  }

  canJudgeOthers(now: number): boolean {
    return this.#isInTime(now) && now - this.#since >= this.#leaseMs
  }

  /**
   * Every process renews at each third of a lease. If the server was unreachable for two thirds, another process that
   * renewed one third before that may have lost its lease by now. A clock that was set back proves nothing.
   */
  #isInTime(now: number): boolean {
    const sinceMs = now - this.#latest
    return sinceMs >= 0 && sinceMs < (this.#leaseMs * 2) / 3
  }
}
