/** The error of an HTTP client. Lazaret reads its status to decide whether a retry can succeed. */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  readonly status: number

  constructor(status: number, message: string) {
    super(`${status} ${message}`)
    this.status = status
  }
}
