/** A resource that is opened at its first use, and again if that failed. It is never opened after `close`. */
export class Lazy<T> {
  readonly #open: () => Promise<T>
  readonly #close: (opened: T) => Promise<void>
  readonly #whenClosed: () => Error
  #opening: Promise<T> | undefined
  #opened: T | undefined
  #closing: Promise<void> | undefined

  constructor(open: () => Promise<T>, close: (opened: T) => Promise<void>, whenClosed: () => Error) {
    this.#open = open
    this.#close = close
    this.#whenClosed = whenClosed
  }

  /** The value if it is open, for callers that cannot wait. */
  get opened(): T | undefined {
    return this.#closing === undefined ? this.#opened : undefined
  }

  open(): Promise<T> {
    if (this.#closing !== undefined) return Promise.reject(this.#whenClosed())
    this.#opening ??= this.#open().then(
      opened => {
        this.#opened = opened
        return opened
      },
      error => {
        this.#opening = undefined
        throw error
      },
    )
    return this.#opening
  }

  close(): Promise<void> {
    this.#closing ??= this.#closeOpened()
    return this.#closing
  }

  async #closeOpened(): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined)
    if (opened !== undefined) await this.#close(opened)
  }
}
