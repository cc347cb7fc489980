import type { TrackJournal } from '../track/journal.ts'
import type { GiveUp } from '../track/track-result.ts'
import type { Tracked } from '../track/tracked.ts'

interface Left {
  readonly giveUps: Map<string, GiveUp>
  readonly settled: Promise<void>
}

/**
 * Takes what the lanes have left when the dispatcher closes. The journal keeps it for the next process, which sends it
 * to the sinks that lack it; without a journal, or when that fails, each sink's copy becomes a letter. So does an event
 * that was sent again: its letter waits to hear how that went.
 */
export class Leftovers {
  readonly #journal: TrackJournal | undefined
  readonly #left = new Map<Tracked, Left>()

  constructor(journal: TrackJournal | undefined) {
    this.#journal = journal
  }

  /** Resolves when it is durable, or cannot be; never rejects. */
  take(tracked: Tracked, sink: string, giveUp: GiveUp): Promise<void> {
    if (this.#journal === undefined || tracked.replay > 0) return tracked.gaveUp(sink, giveUp)
    let left = this.#left.get(tracked)
    if (left === undefined) {
      const giveUps = new Map<string, GiveUp>()
      // All lanes are asked in one go, so in a moment it is known which of them had it.
      const settled = Promise.resolve(this.#journal).then(journal => this.#settle(journal, tracked, giveUps))
      left = { giveUps, settled }
      this.#left.set(tracked, left)
    }
    left.giveUps.set(sink, giveUp)
    return left.settled
  }

  async #settle(
    journal: TrackJournal,
    tracked: Tracked,
    giveUps: ReadonlyMap<string, GiveUp>,
  ): Promise<void> {
    const { event, scope, unsureSinks } = tracked
    // The entry takes the place of one that was for all sinks, so it is for those too whose letters no store has yet:
    // should the process die before they are saved, the next one knows. Twice is better than not at all.
    const sinks = [...giveUps.keys(), ...unsureSinks]
    const isKept = await journal.leave({ event, sinks, job: scope.job })
    if (isKept) for (const sink of giveUps.keys()) tracked.journaledFor(sink)
    else await Promise.all(Array.from(giveUps, ([sink, giveUp]) => tracked.gaveUp(sink, giveUp)))
  }
}
