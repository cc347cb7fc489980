/** How many unsettled messages the server gives one consumer. Without a limit there is always room. */
export class PrefetchWindow {
  readonly #limit: number | undefined
  /** Handed over and not settled. */
  open = 0

  constructor(limit: number | undefined) {
    this.#limit = limit
  }

  /** The server may hand over more. */
  get hasRoom(): boolean {
    return this.#limit === undefined || this.open < this.#limit
  }
}
