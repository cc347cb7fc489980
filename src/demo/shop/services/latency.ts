import { hash128 } from '../../../core/hash.ts'
import type { Clock } from '../../../ports/clock.ts'
import { sleep } from '../../../runtime/sleep.ts'

/** A number from 0 up to 1 that depends only on the text, so that an order has the same outcome in every run. */
export function chanceOf(text: string): number {
  return Number.parseInt(hash128(text).slice(0, 8), 16) / 2 ** 32
}

/** A service of another company, reached over the network. */
export class RemoteService {
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Waits as long as the answer to this call takes: between 15 and 75 ms. */
  protected latency(call: string, signal: AbortSignal): Promise<void> {
    return sleep(this.#clock, 15 + Math.floor(chanceOf(`latency ${call}`) * 60), signal)
  }
}
