import type { Cancel, Clock } from '../../../../ports/clock.ts'

const EVERY_MS = 1_000

/** Looks after something every now and then, for as long as it is on; a look that fails is left to the next one. */
export class Watch {
  readonly #clock: Clock
  readonly #look: () => Promise<void>
  #stop: Cancel | undefined

  constructor(clock: Clock, look: () => Promise<void>) {
    this.#clock = clock
    this.#look = look
  }

  start(): void {
    this.stop()
    const stop = this.#clock.schedule(EVERY_MS, () => {
      const again = () => {
        // It may have been stopped, and started again, while it looked.
        if (this.#stop === stop) this.start()
      }
      void this.#look().then(again, again)
    })
    this.#stop = stop
  }

  stop(): void {
    this.#stop?.()
    this.#stop = undefined
  }
}
