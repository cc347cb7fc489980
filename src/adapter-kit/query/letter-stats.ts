// How stores that count letters themselves add them up.
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import type { HandlerCount, LetterStats } from '../../ports/dead-letters.ts'

/** What is counted of a letter. */
interface Counted {
  readonly state: string
  readonly reason: string
  readonly channel: string
}

/** Adds up letters: one at a time, or many that are alike. */
export class LetterStatsCounter {
  #count = 0
  #oldestAt = Number.POSITIVE_INFINITY
  #newestAt = Number.NEGATIVE_INFINITY
  readonly #byState = new Map<string, number>()
  readonly #byReason = new Map<string, number>()
  readonly #byChannel = new Map<string, number>()

  add({ state, reason, channel }: Counted, count: number, oldestAt: number, newestAt = oldestAt): void {
    this.#count += count
    this.#oldestAt = Math.min(this.#oldestAt, oldestAt)
    this.#newestAt = Math.max(this.#newestAt, newestAt)
    increase(this.#byState, state, count)
    increase(this.#byReason, reason, count)
    increase(this.#byChannel, channel, count)
  }

  addLetter({ state, channel, cycle }: DeadLetter): void {
    this.add({ state, channel, reason: cycle.reason }, 1, cycle.lastFailedAt)
  }

  /** A channel may have any name, also one that an object's prototype uses; fromEntries makes own properties only. */
  get stats(): LetterStats {
    return {
      count: this.#count,
      oldestAt: this.#count === 0 ? undefined : this.#oldestAt,
      newestAt: this.#count === 0 ? undefined : this.#newestAt,
      byState: Object.fromEntries(this.#byState),
      byReason: Object.fromEntries(this.#byReason),
      byChannel: Object.fromEntries(this.#byChannel),
    }
  }
}

/** Adds up letters by channel and handler. */
export class HandlerCounter {
  readonly #byChannel = new Map<string, Map<string, number>>()

  add(channel: string, handler: string, count: number): void {
    const byHandler = this.#byChannel.get(channel) ?? new Map<string, number>()
    this.#byChannel.set(channel, byHandler)
    increase(byHandler, handler, count)
  }

  get counts(): readonly HandlerCount[] {
    return [...this.#byChannel].flatMap(([channel, byHandler]) =>
      Array.from(byHandler, ([handler, count]) => ({ channel, handler, count })),
    )
  }
}

/** The counts by handler of letters that are all at hand. */
export function countByHandler(letters: readonly DeadLetter[]): readonly HandlerCount[] {
  const counter = new HandlerCounter()
  for (const { channel, handler } of letters) counter.add(channel, handler, 1)
  return counter.counts
}

/** The figures of letters that are all at hand. */
export function letterStats(letters: readonly DeadLetter[]): LetterStats {
  const figures = new LetterStatsCounter()
  for (const { state, channel, cycle } of letters)
    figures.add({ state, channel, reason: cycle.reason }, 1, cycle.lastFailedAt)
  return figures.stats
}

function increase(counts: Map<string, number>, name: string, count: number): void {
  counts.set(name, (counts.get(name) ?? 0) + count)
}
