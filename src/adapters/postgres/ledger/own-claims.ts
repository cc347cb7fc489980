/** A process has fewer than this in doubt at once; beyond it the oldest waits for its lease to end. */
const MOST_IN_DOUBT = 10_000

/**
 * Claims of this process whose last answer was lost, as when a connection is killed: the claim may be in the database, and
 * nobody works on it. They are taken up by the same token, so that the event need not wait until the lease is over.
 */
export class OwnClaims {
  readonly #tokens = new Map<string, string>()

  tokenOf(handler: string, key: string): string | undefined {
    return this.#tokens.get(nameOf(handler, key))
  }

  /** Nobody here works on it, and it may still be claimed. */
  isInDoubt(handler: string, key: string, token: string): void {
    if (this.#tokens.size >= MOST_IN_DOUBT) this.#tokens.delete(this.#tokens.keys().next().value!)
    this.#tokens.set(nameOf(handler, key), token)
  }

  isKnown(handler: string, key: string): void {
    if (this.#tokens.size > 0) this.#tokens.delete(nameOf(handler, key))
  }
}

function nameOf(handler: string, key: string): string {
  return JSON.stringify([handler, key])
}
