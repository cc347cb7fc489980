/**
 * Counts in a sliding window of equal slices; a plain JSON-serialisable value.
 *
 * Slices lie on whole multiples of `sliceMs`, so the window seen at any moment is the newest slice, filled as far as
 * the clock has come, and the full ones behind it: between (slices − 1) and slices times `sliceMs` of history.
 */
export interface Window {
  readonly sliceMs: number
  /** Index of the newest slice: floor(now / sliceMs). */
  readonly slice: number
  /** Newest last. */
  readonly counts: readonly number[]
}

const DEFAULT_SLICES = 10

/** A window that has seen nothing yet. Both arguments are expected to be above zero. */
export function emptyWindow(windowMs: number, slices: number = DEFAULT_SLICES): Window {
  return { sliceMs: windowMs / slices, slice: 0, counts: new Array<number>(slices).fill(0) }
}

/** A new value; old slices drop out. A clock going backwards counts into the newest slice. */
export function addToWindow(window: Window, now: number, amount: number): Window {
  const { sliceMs, slice, counts } = window
  const newest = Math.max(slice, Math.floor(now / sliceMs))
  const last = counts.length - 1
  const moved = newest === slice ? counts.slice() : shiftSlices(counts, newest - slice)
  moved[last] = moved[last]! + amount
  return { sliceMs, slice: newest, counts: moved }
}

/** Whether something at this time counts into the newest slice. Everything before it does too: the clock was set back. */
export function isInNewestSlice({ sliceMs, slice }: Window, now: number): boolean {
  return Math.floor(now / sliceMs) <= slice
}

/** A new value with more in the newest slice. */
export function addToNewestSlice(window: Window, amount: number): Window {
  return addToWindow(window, Number.NEGATIVE_INFINITY, amount)
}

function shiftSlices(counts: readonly number[], passed: number): number[] {
  return counts.map((_, index) => counts[index + passed] ?? 0)
}

/** The total of the slices that have not expired. */
export function windowTotal(window: Window, now: number): number {
  const { sliceMs, slice, counts } = window
  const passed = Math.max(0, Math.floor(now / sliceMs) - slice)
  let total = 0
  for (let index = passed; index < counts.length; index++) total += counts[index]!
  return total
}
