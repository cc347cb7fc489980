/** What the work becomes, unless the signal aborts first. The work itself goes on: stop it by other means. */
export function untilAborted<T>(work: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
    work.then(
      value => {
        signal.removeEventListener('abort', stop)
        resolve(value)
      },
      error => {
        signal.removeEventListener('abort', stop)
        reject(error)
      },
    )
  })
}
