import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import type { Clock } from '../../ports/clock.ts'
import { quietly, type Station, type Step, type Tracing, type Trail } from '../../ports/tracing.ts'
import type { Work } from './work.ts'

/** Follows the events of a consumer. */
export class Trails {
  readonly #tracing: Tracing
  readonly #at: Station
  readonly #clock: Clock

  constructor(tracing: Tracing, at: Station, clock: Clock) {
    this.#tracing = tracing
    this.#at = at
    this.#clock = clock
  }

  /** An attempt that is about to begin and has been counted. */
  attempt(work: Work, startedAt: number): Step | undefined {
    const trail = this.#trailOf(work)
    if (trail === undefined) return undefined
    const latest = work.history.at(-1)
    // One that died under its process, or that a bounded history left out, tells no end to wait from.
    const previous = latest?.number === work.started - 1 ? latest : undefined
    try {
      return trail.attempt(work.started, startedAt, previous)
    } catch {
      return undefined
    }
  }

  dead(work: Work, letter: DeadLetter): void {
    const trail = this.#trailOf(work)
    if (trail !== undefined) quietly(() => trail.dead(letter, this.#clock.now()))
  }

  /** Asked once for each delivery. */
  #trailOf(work: Work): Trail | undefined {
    work.trail ??= this.#follow(work) ?? 'none'
    return work.trail === 'none' ? undefined : work.trail
  }

  #follow(work: Work): Trail | undefined {
    try {
      return this.#tracing.follow(work.event, this.#at)
    } catch {
      return undefined
    }
  }
}
