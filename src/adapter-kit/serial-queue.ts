/** Runs tasks one after the other, in the order in which they were given. A task that fails holds up no other. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()

  run<T>(task: () => Promise<T>): Promise<T> {
    const done = this.#last.then(task)
    this.#last = done.catch(() => {})
    return done
  }

  /** Resolves when the last task so far has ended. */
  async settled(): Promise<void> {
    await this.#last
  }
}
