import { RedisClosedError } from './errors.ts'

/** Open until it is closed, for parts that are closed together. */
export class Door {
  readonly #name: string
  #isOpen = true

  constructor(name: string) {
    this.#name = name
  }

  requireOpen(): void {
    if (!this.#isOpen) throw new RedisClosedError(this.#name)
  }

  close(): void {
    this.#isOpen = false
  }
}
