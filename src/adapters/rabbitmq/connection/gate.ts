type Reason = 'full' | 'blocked'

/**
 * Holds publishing back while the socket's buffer is full, or while the server has no memory or disk left and says so.
 * Writing on would only fill this process instead.
 */
export class Gate {
  readonly #reasons = new Set<Reason>()
  #waiting: (() => void)[] = []

  get isOpen(): boolean {
    return this.#reasons.size === 0
  }

  /** Not by us: the server asked for it. */
  get isBlocked(): boolean {
    return this.#reasons.has('blocked')
  }

  shut(reason: Reason): void {
    this.#reasons.add(reason)
  }

  open(reason: Reason): void {
    this.#reasons.delete(reason)
    if (this.isOpen) this.#letThrough()
  }

  /** Another connection: what held the old one back is over. */
  reset(): void {
    this.#reasons.clear()
    this.#letThrough()
  }

  async opened(): Promise<void> {
    if (!this.isOpen) await new Promise<void>(resolve => this.#waiting.push(resolve))
    // One who was let through before may have filled it again. Who has waited longer comes first the next time.
    while (!this.isOpen) await new Promise<void>(resolve => this.#waiting.unshift(resolve))
  }

  #letThrough(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}
