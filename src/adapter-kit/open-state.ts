import { StoreClosedError } from '../ports/store.ts'

/** Open until it is closed, for parts of a store that are closed together. */
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
