// The one home of time in the console: everything else takes `now` as a value, so that it can be tested.

/** Milliseconds since the epoch, by this machine. */
export function now(): number {
  // biome-ignore lint/plugin: this is where the console's time comes from
  return Date.now()
}

/** Calls back once, unless the function it returns is called before. */
export function after(ms: number, callback: () => void): () => void {
  const timer = window.setTimeout(callback, ms)
  return () => window.clearTimeout(timer)
}

/** Calls back again and again, until the function it returns is called. */
export function every(ms: number, callback: () => void): () => void {
  const timer = window.setInterval(callback, ms)
  return () => window.clearInterval(timer)
}
