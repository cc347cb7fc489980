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

/** A new value; old slices drop out. A clock that was set back takes the counts with it. */
export function addToWindow(window: Window, now: number, amount: number): Window {
  const { sliceMs, slice, counts } = window
  const newest = newestSlice(window, now)
  const last = counts.length - 1
  const moved = newest > slice ? shiftSlices(counts, newest - slice) : counts.slice()
  moved[last] = moved[last]! + amount
  return { sliceMs, slice: newest, counts: moved }
}

/** Whether something at this time counts into the newest slice as it is. */
export function isInNewestSlice(window: Window, now: number): boolean {
  return newestSlice(window, now) === window.slice
}

/** A new value with more in the newest slice. */
export function addToNewestSlice({ sliceMs, slice, counts }: Window, amount: number): Window {
  const more = counts.slice()
  more[more.length - 1]! += amount
  return { sliceMs, slice, counts: more }
}

/**
 * The same window if the clock was not set back. Otherwise its counts move with the clock. Call it before `windowTotal` if
 * nothing may be added for long: only a window that has moved forgets its counts in time.
 */
export function followClock(window: Window, now: number): Window {
  const newest = newestSlice(window, now)
  return newest < window.slice ? { ...window, slice: newest } : window
}

/**
 * The index of the newest slice at this time. A clock that was set back by a little counts into the slice that is there:
 * moved each time, the counts would never expire while the clock swings around the border of two slices.
 */
function newestSlice({ sliceMs, slice }: Window, now: number): number {
  const current = Math.floor(now / sliceMs)
  return current === slice - 1 ? slice : current
}

function shiftSlices(counts: readonly number[], passed: number): number[] {
  return counts.map((_, index) => counts[index + passed] ?? 0)
}

/** The total of the slices that have not expired. A clock that was set back expires none. */
export function windowTotal(window: Window, now: number): number {
  const { sliceMs, slice, counts } = window
  const passed = Math.max(0, Math.floor(now / sliceMs) - slice)
  let total = 0
  for (let index = passed; index < counts.length; index++) total += counts[index]!
  return total
}
