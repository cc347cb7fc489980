/** What an HTTP client throws. The status is all that Lazaret needs to tell what may pass from what will not. */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  readonly status: number

  constructor(status: number, message: string) {
    super(`${status} ${message}`)
    this.status = status
  }
}
