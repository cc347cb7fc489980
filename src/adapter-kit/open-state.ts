import { StoreClosedError } from '../ports/store.ts'

/** Whether a store is open. Its parts share one, so that closing the store closes all of them. */
export class OpenState {
  readonly #name: string
  #isOpen = true

  constructor(name: string) {
    this.#name = name
  }

  requireOpen(): void {
    if (!this.#isOpen) throw new StoreClosedError(this.#name)
  }

  close(): void {
    this.#isOpen = false
  }
}
