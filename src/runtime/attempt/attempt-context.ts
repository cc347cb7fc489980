/**
 * What a protected function can know of the attempt it is. The signal aborts when the attempt's time is over or its
 * caller gave up; it is only made when somebody looks at it, because most attempts end before anyone does.
 */
export class AttemptContext {
  /** 1 for the first attempt. */
  readonly attempt: number
  #controller: AbortController | undefined
  #aborted: { readonly reason: unknown } | undefined

  constructor(attempt: number) {
    this.attempt = attempt
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason)
    }
    return this.#controller.signal
  }

  abort(reason: unknown): void {
    this.#aborted ??= { reason }
    this.#controller?.abort(reason)
  }
}
