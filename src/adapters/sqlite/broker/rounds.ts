import type { Cancel, Clock } from '../../../ports/clock.ts'

interface RoundsSettings {
  readonly clock: Clock
  /** What due times are told by. */
  readonly steadyNow: () => number
  readonly minPollMs: number
  readonly maxPollMs: number
  readonly beatMs: number
  /** Looks for what others have written; answers whether they have. */
  poll(): Promise<boolean>
  beat(): Promise<void>
}

/** Caps a sleep: other processes may have changed what waits. */
const LONGEST_SLEEP_MS = 60_000

/**
 * What a broker with subscriptions does from time to time. Within the process news travel with the answers; what other
 * processes publish has to be looked for, often while they are busy and seldom while they are not.
 */
export class Rounds {
  readonly #settings: RoundsSettings
  #pollMs: number
  #cancelPoll: Cancel | undefined
  #cancelBeat: Cancel | undefined
  #cancelDue: Cancel | undefined
  #dueAt: number | undefined
  #isOn = false

  constructor(settings: RoundsSettings) {
    this.#settings = settings
    this.#pollMs = settings.minPollMs
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
    this.#dueAt = undefined
  }

  /** When the next retry is due: it is not left to the next look by chance. */
  wakeAt(dueAt: number | undefined): void {
    if (!this.#isOn || dueAt === this.#dueAt) return
    this.#dueAt = dueAt
    this.#cancelDue?.()
    if (dueAt === undefined) return
    const { clock, steadyNow, poll } = this.#settings
    // A timer may fire a little early; at least 1 ms keeps that from becoming a spin.
    const delayMs = Math.min(LONGEST_SLEEP_MS, Math.max(1, dueAt - steadyNow()))
    this.#cancelDue = clock.schedule(delayMs, () => {
      this.#dueAt = undefined
      poll().catch(() => {})
    })
  }

  #schedulePoll(): void {
    this.#cancelPoll = this.#settings.clock.schedule(this.#pollMs, () => void this.#poll())
  }

  async #poll(): Promise<void> {
    const { minPollMs, maxPollMs, poll } = this.#settings
    const othersWrote = await poll().catch(() => false)
    this.#pollMs = othersWrote ? minPollMs : Math.min(maxPollMs, this.#pollMs * 2)
    if (this.#isOn) this.#schedulePoll()
  }

  #scheduleBeat(): void {
    const { clock, beatMs } = this.#settings
    this.#cancelBeat = clock.schedule(beatMs, () => void this.#beat())
  }

  async #beat(): Promise<void> {
    // A beat that fails is made up for by the next; if none works, the lease runs out, as it should.
    await this.#settings.beat().catch(() => {})
    if (this.#isOn) this.#scheduleBeat()
  }
}
