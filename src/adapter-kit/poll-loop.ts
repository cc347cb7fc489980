import { isPromiseLike } from '../core/promise-like.ts'
import { type Cancel, type Clock, monotonicNow } from '../ports/clock.ts'

interface PollLoopOptions {
  /** Supplies the time and the timers. */
  readonly clock: Clock
  /** The shortest pause after a poll, in ms. The pause doubles up to `maxPollMs` until `resetBackoff` is called. */
  readonly minPollMs: number
  /** The longest pause between two polls, in ms. */
  readonly maxPollMs: number
  /** The time between two heartbeats, in ms. It must be shorter than the lease. */
  readonly heartbeatMs: number
  /** Looks for work. A poll that fails is followed by the next one. */
  poll(): unknown
  /** Renews the lease. If one heartbeat fails, the next one makes up for it; if all fail, the lease expires. */
  heartbeat(): unknown
}

/** Limits a sleep, because another process may have changed what is due. */
const MAX_SLEEP_MS = 60_000

/**
 * The timers of a broker: polls with backoff, a heartbeat, and a wake-up when a retry is due. Two polls never run at
 * once. Heartbeats do not wait for anything, not even for the one before, because the lease must outlive a slow call.
 */
export class PollLoop {
  readonly #options: PollLoopOptions
  #pollMs: number
  #cancelPoll: Cancel | undefined
  #cancelHeartbeat: Cancel | undefined
  #cancelDue: Cancel | undefined
  #dueAt = Number.POSITIVE_INFINITY
  #polling: Promise<void> | undefined
  #mustPollAgain = false
  readonly #heartbeats = new Set<Promise<void>>()
  #isRunning = false

  constructor(options: PollLoopOptions) {
    this.#options = options
    this.#pollMs = this.#minPollMs
  }

  start(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    this.#schedulePoll()
    this.#scheduleHeartbeat()
  }

  stop(): void {
    this.#isRunning = false
    this.#cancelPoll?.()
    this.#cancelHeartbeat?.()
    this.#cancelDue?.()
    this.#dueAt = Number.POSITIVE_INFINITY
  }

  /** Stops, and resolves when the current poll and heartbeats have ended. */
  async end(): Promise<void> {
    this.stop()
    await this.#polling
    await Promise.all(this.#heartbeats)
  }

  /** Polls at the shortest pause again, because work was found and more may follow. */
  resetBackoff(): void {
    if (this.#pollMs === this.#minPollMs || !this.#isRunning) return
    this.#pollMs = this.#minPollMs
    this.#cancelPoll?.()
    this.#schedulePoll()
  }

  /** Polls after this delay, when a retry is due. Of several wake-ups the earliest one counts. */
  wakeIn(delayMs: number): void {
    const { clock } = this.#options
    const dueAt = monotonicNow(clock) + delayMs
    if (!this.#isRunning || dueAt >= this.#dueAt) return
    this.#dueAt = dueAt
    this.#cancelDue?.()
    // A timer may fire a little early. One more millisecond keeps an early timer from polling in a loop.
    this.#cancelDue = clock.schedule(Math.min(MAX_SLEEP_MS, Math.max(0, delayMs) + 1), () => {
      this.#dueAt = Number.POSITIVE_INFINITY
      this.#poll()
    })
  }

  get #minPollMs(): number {
    return Math.min(this.#options.minPollMs, this.#options.maxPollMs)
  }

  #schedulePoll(): void {
    const { clock, maxPollMs } = this.#options
    this.#cancelPoll = clock.schedule(this.#pollMs, () => {
      this.#pollMs = Math.min(maxPollMs, this.#pollMs * 2)
      this.#schedulePoll()
      this.#poll()
    })
  }

  #poll(): void {
    if (this.#polling !== undefined) {
      this.#mustPollAgain = true
      return
    }
    const result = attempt(this.#options.poll)
    if (result === undefined) return
    this.#polling = result.then(() => {
      this.#polling = undefined
      const mustPollAgain = this.#mustPollAgain && this.#isRunning
      this.#mustPollAgain = false
      if (mustPollAgain) this.#poll()
    })
  }

  #scheduleHeartbeat(): void {
    const { clock, heartbeatMs, heartbeat } = this.#options
    this.#cancelHeartbeat = clock.schedule(heartbeatMs, () => {
      this.#scheduleHeartbeat()
      const beating = attempt(heartbeat)?.then(() => void this.#heartbeats.delete(beating!))
      if (beating !== undefined) this.#heartbeats.add(beating)
    })
  }
}

/** Runs a task that reports its own errors. Undefined when it ended at once. */
function attempt(task: () => unknown): Promise<void> | undefined {
  try {
    const result = task()
    return isPromiseLike(result)
      ? Promise.resolve(result).then(
          () => {},
          () => {},
        )
      : undefined
  } catch {
    return undefined
  }
}
