/**
 * Whether this process can tell that others are dead. When nobody could reach the server for a while, every lease has run
 * out, and the first to come back would take all others for dead. So only who has renewed its own lease in time, again and
 * again for as long as a lease lasts, believes that one who has not is gone: the server could be reached all the while.
 */
export class LeaseWitness {
  readonly #leaseMs: number
  #since = Number.POSITIVE_INFINITY
  #latest = Number.NEGATIVE_INFINITY

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs
  }

  /** The lease was renewed, or is a new one. */
  renewed(now: number): void {
    if (!this.#isInTime(now)) this.#since = now
    this.#latest = now
  }

  canJudgeOthers(now: number): boolean {
    return this.#isInTime(now) && now - this.#since >= this.#leaseMs
  }

  /**
   * Everybody renews at every third of a lease. Had the server been away for two of them, somebody else, who had renewed
   * a third before that, could have lost his lease by now. A clock that was set back proves nothing.
   */
  #isInTime(now: number): boolean {
    const sinceMs = now - this.#latest
    return sinceMs >= 0 && sinceMs < (this.#leaseMs * 2) / 3
  }
}
