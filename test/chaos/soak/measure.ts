import { readdirSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { ProcessSample } from './plan.ts'

const RESOLUTION_MS = 20
const NS_PER_MS = 1_000_000

/** Measures how late the timers of this process fire. */
export class LoopDelay {
  readonly #histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })

  constructor() {
    this.#histogram.enable()
  }

  /** The 99th percentile since the last call. It ends the measurement until `resume`. */
  take(): number {
    this.#histogram.disable()
    // The histogram holds the times between two timers.
    const late = this.#histogram.percentile(99) / NS_PER_MS - RESOLUTION_MS
    this.#histogram.reset()
    return Math.max(0, Number.isFinite(late) ? late : 0)
  }

  resume(): void {
    this.#histogram.enable()
  }
}

/** Needs `--expose-gc`. A forced collection stops the process, so it does not count as a delay. */
export function measureProcess(delay: LoopDelay): Omit<ProcessSample, 'counts'> {
  const loopDelayMs = delay.take()
  if (globalThis.gc === undefined) throw new Error('start the process with --expose-gc')
  // What finalizers free is collected by the second run.
  globalThis.gc()
  globalThis.gc()
  const { heapUsed, rss } = process.memoryUsage()
  const sample = {
    heapBytes: heapUsed,
    rssBytes: rss,
    // Without the one that reads the folder.
    descriptors: readdirSync('/proc/self/fd').length - 1,
    handles: process.getActiveResourcesInfo().length,
    loopDelayMs,
  }
  delay.resume()
  return sample
}
