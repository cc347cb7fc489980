import type { Cancel, Clock } from '../../../ports/clock.ts'

interface RoundsSettings {
  readonly clock: Clock
  readonly maxPollMs: number
  readonly beatMs: number
  /** Looks for something to claim. */
  poll(): void
  /** Keeps the lease. Never rejects: one that fails is made up for by the next; if none works, the lease runs out. */
  beat(): Promise<void>
  /** All else that is done now and then. Never rejects. */
  tend(): Promise<void>
}

const MIN_POLL_MS = 20
/** Longer than this nobody sleeps without a look at the clock, which may have been set meanwhile. */
const LONGEST_SLEEP_MS = 60_000

/**
 * What a broker with subscriptions does from time to time. Mostly it is told when there is something to do; polling is
 * the floor under that, soon after something happened and seldom while nothing does.
 */
export class Rounds {
  readonly #settings: RoundsSettings
  #pollMs: number
  #cancelPoll: Cancel | undefined
  #cancelBeat: Cancel | undefined
  #cancelDue: Cancel | undefined
  #dueAt = Number.POSITIVE_INFINITY
  #beating: Promise<void> | undefined
  #tending: Promise<void> | undefined
  #isOn = false

  constructor(settings: RoundsSettings) {
    this.#settings = settings
    this.#pollMs = this.#minPollMs
  }

  start(): void {
    if (this.#isOn) return
    this.#isOn = true
    this.#schedulePoll()
    this.#scheduleBeat()
  }

  stop(): void {
    this.#isOn = false
    this.#cancelPoll?.()
    this.#cancelBeat?.()
    this.#cancelDue?.()
    this.#dueAt = Number.POSITIVE_INFINITY
  }

  /** Stops, and resolves when nothing is under way any more. */
  async end(): Promise<void> {
    this.stop()
    await this.#beating
    await this.#tending
  }

  /** Something was found, so that more may come soon. */
  hurry(): void {
    if (this.#pollMs === this.#minPollMs || !this.#isOn) return
    this.#pollMs = this.#minPollMs
    this.#cancelPoll?.()
    this.#schedulePoll()
  }

  /** A retry is due then: it is not left to the next look by chance. */
  wakeIn(delayMs: number): void {
    const { clock, poll } = this.#settings
    const dueAt = clock.now() + delayMs
    if (!this.#isOn || dueAt >= this.#dueAt) return
    this.#dueAt = dueAt
    this.#cancelDue?.()
    // A timer may fire a little early; the millisecond more keeps that from becoming a spin.
    this.#cancelDue = clock.schedule(Math.min(LONGEST_SLEEP_MS, Math.max(0, delayMs) + 1), () => {
      this.#dueAt = Number.POSITIVE_INFINITY
      poll()
    })
  }

  get #minPollMs(): number {
    return Math.min(MIN_POLL_MS, this.#settings.maxPollMs)
  }

  #schedulePoll(): void {
    const { clock, maxPollMs, poll } = this.#settings
    this.#cancelPoll = clock.schedule(this.#pollMs, () => {
      this.#pollMs = Math.min(maxPollMs, this.#pollMs * 2)
      this.#schedulePoll()
      poll()
    })
  }

  /** Beats wait for nothing, not even for the one before: whatever else takes long, the lease is kept. */
  #scheduleBeat(): void {
    const { clock, beatMs } = this.#settings
    this.#cancelBeat?.()
    this.#cancelBeat = clock.schedule(beatMs, () => {
      this.#scheduleBeat()
      this.#beating = this.#beat()
    })
  }

  async #beat(): Promise<void> {
    const { beat, tend } = this.#settings
    await beat()
    if (!this.#isOn) return
    this.#tending ??= tend().finally(() => {
      this.#tending = undefined
    })
  }
}
