import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { Cancel, Clock } from '../ports/clock.ts'
import type { Spill } from '../ports/dead-letters.ts'
import type { Observer } from '../ports/observer.ts'
import { TimeoutError } from './attempt/attempt.ts'
import { observe } from './observe.ts'

const DRAIN_EVERY_MS = 5_000

/** The letters that wait in the spill. */
export interface SpillHealth {
  /** Counted at the last drain. Letters that were spilled since then are added. */
  readonly size: number
  /** The last error of the last drain, of the store or of the spill. Absent if it had none. */
  readonly problem?: string
}

interface SpillDrainerSetup {
  readonly spill: Spill
  /** Sends one letter to the store, with a time limit: one letter that hangs must not block the others. */
  readonly send: (letter: DeadLetter) => Promise<void>
  readonly observer: Observer
  readonly clock: Clock
}

interface DrainFailure {
  readonly error: unknown
  /** The letter that the store refused; undefined for an error of the spill. */
  readonly letter: DeadLetter | undefined
}

/** Moves spilled letters to their store, again and again until the spill is empty. */
export class SpillDrainer {
  readonly #setup: SpillDrainerSetup
  #size = 0
  /** The last error of the last drain; empty if it had none. */
  #failures: readonly DrainFailure[] = []
  #cancelDrain: Cancel | undefined
  #draining: Promise<void> | undefined
  #isClosed = false

  constructor(setup: SpillDrainerSetup) {
    this.#setup = setup
  }

  /** Moves the letters that an earlier process left in the spill. */
  async start(): Promise<void> {
    this.#size = await this.#setup.spill.size()
    if (this.#size > 0) this.#schedule(0)
  }

  /** A letter was sent to the spill. A spill that reports a failure may still have stored it. */
  letterSent(isStored: boolean): void {
    if (isStored) this.#size++
    this.#schedule(DRAIN_EVERY_MS)
  }

  /** Undefined if the spill is empty. */
  get health(): SpillHealth | undefined {
    if (this.#size === 0 && this.#failures.length === 0) return undefined
    return {
      size: this.#size,
      ...(this.#failures.length > 0 && { problem: messageOf(this.#failures[0]?.error) }),
    }
  }

  /** Spilled letters are safe, and are tried once more: the next process may start on another machine. */
  async close(): Promise<void> {
    this.#isClosed = true
    const isWaiting = this.#cancelDrain !== undefined
    this.#cancelDrain?.()
    await this.#draining
    if (isWaiting) await this.#drain()
  }

  #schedule(delayMs: number): void {
    if (this.#isClosed || this.#cancelDrain !== undefined) return
    this.#cancelDrain = this.#setup.clock.schedule(delayMs, () => {
      this.#cancelDrain = undefined
      this.#draining = this.#drain().finally(() => {
        this.#draining = undefined
      })
    })
  }

  /** Never rejects. */
  async #drain(): Promise<void> {
    const { spill } = this.#setup
    const failures: DrainFailure[] = []
    // Only the last one is kept: a large spill can have many.
    const failed = (error: unknown, letter?: DeadLetter) => {
      failures[0] = { error, letter }
    }
    let count = 0
    try {
      const send = async (letter: DeadLetter) => {
        // A store that hangs takes the whole time limit of each letter, and `close` does not wait for that.
        const hung = failures.find(({ error }) => error instanceof TimeoutError)
        if (this.#isClosed && hung !== undefined) throw hung.error
        await this.#send(letter, error => failed(error, letter))
      }
      count = await spill.drain({ send, close: async () => {} }, error => failed(error))
      this.#size = await spill.size()
    } catch (error) {
      failed(error)
    }
    this.#failures = failures
    this.#report(count)
    if (this.#size > 0 || failures.length > 0) this.#schedule(DRAIN_EVERY_MS)
  }

  async #send(letter: DeadLetter, failed: (error: unknown) => void): Promise<void> {
    const { send, observer } = this.#setup
    try {
      await send(letter)
    } catch (error) {
      failed(error)
      const { channel, handler: name } = letter
      if (observer.letterWriteFailed) observe(observer, 'letterWriteFailed', { channel, name, error, letter })
      throw error
    }
  }

  #report(count: number): void {
    const { observer } = this.#setup
    const left = this.#size
    if (count > 0 && observer.spillDrained)
      observe(observer, 'spillDrained', left > 0 ? { count, left } : { count })
    const [failure] = this.#failures
    if (failure !== undefined && observer.spillDrainFailed)
      observe(observer, 'spillDrainFailed', { left, ...failure })
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
