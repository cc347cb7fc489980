import { hash128 } from '../../../core/hash.ts'
import type { Clock } from '../../../ports/clock.ts'
import { sleep } from '../../../runtime/sleep.ts'

/** A number from 0 up to 1 that depends on nothing but the text: the same order fares the same in every run. */
export function chanceOf(text: string): number {
  return Number.parseInt(hash128(text).slice(0, 8), 16) / 2 ** 32
}

/** The time an answer takes on its way: between 15 and 75 ms. */
export function latency(clock: Clock, of: string, signal: AbortSignal): Promise<void> {
  return sleep(clock, 15 + Math.floor(chanceOf(`latency ${of}`) * 60), signal)
}
