/**
 * Something was returned that cannot be used. A promise in it gets a handler, so that it cannot become an unhandled
 * rejection.
 */
export function unusable(which: string, value: unknown, remedy: string): TypeError {
  const isPromise = isThenable(value)
  if (isPromise) value.then(undefined, () => {})
  const shown = isPromise ? 'a promise' : typeof value === 'object' ? 'an object' : String(value)
  return new TypeError(`${which} returned ${shown}; ${remedy}`)
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  try {
    return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function'
  } catch {
    return false
  }
}
