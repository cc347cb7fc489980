/** Whether it is a promise of any library or realm. Throws what a getter of `then` throws. */
export function isPromiseLike<R>(value: R | PromiseLike<R>): value is PromiseLike<R> {
  return typeof (value as PromiseLike<R> | undefined)?.then === 'function'
}

/** A promise of another library may resolve with a promise, or answer twice. A promise of the language waits, and once. */
export function promiseOf<R>(value: PromiseLike<R>): PromiseLike<R> {
  return value instanceof Promise ? value : Promise.resolve(value)
}

/**
 * For the result of a user's function that nobody awaits. If it is a promise, its rejection goes to `report` and does not
 * end the process. Returns whether it is a promise.
 */
export function catchRejection(result: unknown, report: (error: unknown) => void = () => {}): boolean {
  try {
    if (!isPromiseLike(result)) return false
    Promise.resolve(result).then(undefined, report)
    return true
  } catch (error) {
    report(error)
    return false
  }
}
