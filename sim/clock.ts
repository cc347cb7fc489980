import { nextTick } from 'node:process'
import { Heap } from '../src/core/heap.ts'
import type { Cancel, Clock } from '../src/ports/clock.ts'

interface Timer {
  readonly at: number
  readonly order: number
  task: (() => void) | undefined
}

/** 2026-01-01T00:00:00Z. */
const START = 1_767_225_600_000

/**
 * The clock of a world. Like the fake clock of the test kit, it is driven, and setting the wall clock does not move
 * timers. A world takes thousands of steps, so this clock waits for promises with a tick instead of a turn of the
 * event loop.
 */
export class WorldClock implements Clock {
  /** The time since the start of the world, independent of the wall clock. */
  elapsedMs = 0
  /** The number of scheduled tasks. */
  pending = 0
  #wall = START
  #order = 0
  readonly #timers = new Heap<Timer>(isBefore)

  now(): number {
    return this.#wall + this.elapsedMs
  }

  monotonic(): number {
    return this.elapsedMs
  }

  schedule(delayMs: number, task: () => void): Cancel {
    // Machine clocks have whole milliseconds, and a timer never fires early.
    const timer: Timer = { at: this.elapsedMs + Math.max(0, Math.ceil(delayMs)), order: this.#order++, task }
    this.#timers.push(timer)
    this.pending++
    return () => {
      if (timer.task === undefined) return
      timer.task = undefined
      this.pending--
    }
  }

  /** Sets the wall clock, as NTP does, without letting time pass. */
  jump(ms: number): void {
    this.#wall += ms
  }

  /** Advances the time. Between two tasks, all promise callbacks run. */
  async advance(ms: number): Promise<void> {
    const until = this.elapsedMs + ms
    await settle()
    for (let timer = this.#timers.first; timer !== undefined; timer = this.#timers.first) {
      if (timer.at > until) break
      this.#timers.shift()
      const { task } = timer
      if (task === undefined) continue
      timer.task = undefined
      this.pending--
      this.elapsedMs = Math.max(this.elapsedMs, timer.at)
      task()
      await settle()
    }
    this.elapsedMs = until
  }
}

/** Node runs a tick after all promise callbacks. */
function settle(): Promise<void> {
  return new Promise(nextTick)
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}
