import type { Encoded } from '../broker/wire/encode.ts'
import type { Route } from '../options.ts'

export interface Outgoing extends Encoded {
  readonly route: Route
}

/** Messages that are published together. Told once how it went; the first that went wrong decides. */
export class Batch {
  readonly messages: readonly Outgoing[]
  readonly unroutable: Outgoing[] = []
  /** Resolves with those that no queue took. */
  readonly done: Promise<readonly Outgoing[]>
  /** Of how many the server has not spoken yet. */
  left: number
  /** When it was written, or the server last spoke of it. */
  movedAt = 0
  /** Some of it is not written yet: the server takes no more for the moment. */
  isHeldBack = false
  #resolve!: (unroutable: readonly Outgoing[]) => void
  #reject!: (error: Error) => void

  constructor(messages: readonly Outgoing[]) {
    this.messages = messages
    this.left = messages.length
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  finish(error: Error | undefined): void {
    if (error === undefined) this.#resolve(this.unroutable)
    else this.#reject(error)
  }
}
