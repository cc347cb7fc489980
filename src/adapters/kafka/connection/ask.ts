/** How the client answers a request. */
type Callback<T> = (error: Error | null | undefined, answer: T | null | undefined) => void

/** Sends a request. Rejects if there is no answer: for a request that took too long, the client says null. */
export function ask<T>(send: (callback: Callback<T>) => void): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  send((error, answer) => {
    if (answer === undefined || answer === null) reject(error ?? new Error('the broker gave no answer'))
    else resolve(answer)
  })
  return promise
}
