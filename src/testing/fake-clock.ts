import { Heap } from '../core/heap.ts'
import { type Cancel, type Clock, yieldToEventLoop } from '../ports/clock.ts'

interface Timer {
  readonly at: number
  readonly order: number
  /** Undefined after it ran or was cancelled. A cancelled timer stays in the heap until its time. */
  task: (() => void) | undefined
}

/** 2026-01-01T00:00:00Z: far enough from the epoch to reveal a missing offset. */
const DEFAULT_START = 1_767_225_600_000

/**
 * A clock that a test drives. Time passes only in `advance` and `step`. Before and after every due task all promise
 * callbacks run, so a test sees the same order on every machine.
 */
export class FakeClock implements Clock {
  /** The elapsed time. Timers use it, as on a real machine whose wall clock is set. */
  #elapsed = 0
  #wall: number
  #order = 0
  #pending = 0
  readonly #timers = new Heap<Timer>(isBefore)

  constructor(start = DEFAULT_START) {
    this.#wall = start
  }

  now(): number {
    return this.#wall + this.#elapsed
  }

  /** The elapsed time, which `jump` does not change. */
  monotonic(): number {
    return this.#elapsed
  }

  schedule(delayMs: number, task: () => void): Cancel {
    const timer: Timer = { at: this.#elapsed + Math.max(0, delayMs), order: this.#order++, task }
    this.#timers.push(timer)
    this.#pending++
    return () => {
      if (timer.task === undefined) return
      timer.task = undefined
      this.#pending--
    }
  }

  /** Advances the time and runs the tasks that fall due. */
  async advance(ms: number): Promise<void> {
    const until = this.#elapsed + ms
    await settle()
    while (this.#runFirst(until)) await settle()
    this.#elapsed = until
  }

  /** Advances to the next timer and runs it. Returns false if nothing is scheduled. */
  async step(): Promise<boolean> {
    await settle()
    if (!this.#runFirst(Number.POSITIVE_INFINITY)) return false
    await settle()
    return true
  }

  /** Sets the wall clock forward or back, as NTP does. No time passes. */
  jump(ms: number): void {
    this.#wall += ms
  }

  /** The number of scheduled tasks. */
  get pending(): number {
    return this.#pending
  }

  #runFirst(until: number): boolean {
    for (
      let timer = this.#timers.first;
      timer !== undefined && timer.at <= until;
      timer = this.#timers.first
    ) {
      this.#timers.shift()
      const { task } = timer
      if (task === undefined) continue
      timer.task = undefined
      this.#pending--
      this.#elapsed = Math.max(this.#elapsed, timer.at)
      task()
      return true
    }
    return false
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

/** Waits until all promise callbacks have run. */
export function settle(): Promise<void> {
  return yieldToEventLoop()
}
