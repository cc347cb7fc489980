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
 * The one clock of a world. Like the fake clock of the test kit it is driven and can be set while timers go by the time
 * that has really passed; but a world takes thousands of steps, so a turn costs a tick and no trip round the event loop.
 */
export class WorldClock implements Clock {
  /** Since the world began, whatever the wall clock was set to. */
  elapsedMs = 0
  /** Scheduled and not taken back. */
  pending = 0
  #wall = START
  #order = 0
  readonly #timers = new Heap<Timer>(isBefore)

  now(): number {
    return this.#wall + this.elapsedMs
  }

  schedule(delayMs: number, task: () => void): Cancel {
    // Clocks of machines show whole milliseconds, and a timer never fires before its time.
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

  /** Lets so much time pass. Between two tasks everything that waits on promises runs to its end. */
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

/** A tick comes only when no promise has anything left to do. */
function settle(): Promise<void> {
  return new Promise(nextTick)
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}
