import type { Cancel, Clock } from '../../../ports/clock.ts'

interface RoundsSettings {
  readonly clock: Clock
  readonly maxPollMs: number
  readonly beatMs: number
  /** Brings what is due; answers after how long the next one is. Never rejects. */
  bringDue(): Promise<number | undefined>
  /** Keeps the lease, and what else is done now and then. Never rejects. */
  beat(): Promise<void>
}

/** What a subscription does from time to time, and when a retry is due. */
export class Rounds {
  readonly #settings: RoundsSettings
  #cancelDue: Cancel | undefined
  #cancelBeat: Cancel | undefined
  #dueAt = Number.POSITIVE_INFINITY
  #bringing: Promise<void> | undefined
  #beating: Promise<void> | undefined
  #isOn = false

  constructor(settings: RoundsSettings) {
    this.#settings = settings
  }

  start(): void {
    this.#isOn = true
    this.wakeIn(0)
    this.#scheduleBeat()
  }

  /** Stops, and resolves when nothing is under way any more. */
  async end(): Promise<void> {
    this.#isOn = false
    this.#cancelDue?.()
    this.#cancelBeat?.()
    await this.#bringing
    await this.#beating
  }

  /** A retry is due then: it is not left to the next look by chance. */
  wakeIn(delayMs: number): void {
    const { clock, maxPollMs } = this.#settings
    const dueAt = clock.now() + delayMs
    if (!this.#isOn || dueAt >= this.#dueAt) return
    this.#dueAt = dueAt
    this.#cancelDue?.()
    // A timer may fire a little early; the millisecond more keeps that from becoming a spin.
    this.#cancelDue = clock.schedule(Math.min(maxPollMs, Math.max(0, delayMs) + 1), () => {
      this.#dueAt = Number.POSITIVE_INFINITY
      this.#bringing ??= this.#bring().finally(() => {
        this.#bringing = undefined
      })
    })
  }

  async #bring(): Promise<void> {
    const { bringDue, maxPollMs } = this.#settings
    const dueInMs = await bringDue()
    this.wakeIn(Math.min(maxPollMs, dueInMs ?? maxPollMs))
  }

  /** Beats wait for nothing: whatever else takes long, the lease is kept. */
  #scheduleBeat(): void {
    const { clock, beatMs, beat } = this.#settings
    this.#cancelBeat = clock.schedule(beatMs, () => {
      if (!this.#isOn) return
      this.#scheduleBeat()
      this.#beating = beat()
    })
  }
}
