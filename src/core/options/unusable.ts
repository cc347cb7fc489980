import { catchRejection } from '../promise-like.ts'

/** Something was returned that cannot be used. The rejection of a promise must not end the process. */
export function unusable(which: string, value: unknown, remedy: string): TypeError {
  const shown = catchRejection(value) ? 'a promise' : typeof value === 'object' ? 'an object' : String(value)
  return new TypeError(`${which} returned ${shown}; ${remedy}`)
}
