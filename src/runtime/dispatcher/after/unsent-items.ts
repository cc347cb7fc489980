import type { TrackJournal } from '../track/journal.ts'
import type { GiveUp } from '../track/track-result.ts'
import type { Tracked } from '../track/tracked.ts'

interface Left {
  readonly giveUps: Map<string, GiveUp>
  readonly settled: Promise<void>
}

/**
 * Collects the items that the lanes have not sent when the dispatcher closes. The journal keeps the events for the next
 * process, which writes them to the sinks that lack them. Without a journal, or if the journal fails, each item becomes a
 * letter. An event of a replay always becomes a letter, because its letter waits for the outcome.
 */
export class UnsentItems {
  readonly #journal: TrackJournal | undefined
  readonly #left = new Map<Tracked, Left>()

  constructor(journal: TrackJournal | undefined) {
    this.#journal = journal
  }

  /** Resolves when the event is durable, or cannot be made durable. Never rejects. */
  take(tracked: Tracked, sink: string, giveUp: GiveUp): Promise<void> {
    if (this.#journal === undefined || tracked.replay > 0) return tracked.gaveUp(sink, giveUp)
    let left = this.#left.get(tracked)
    if (left === undefined) {
      const giveUps = new Map<string, GiveUp>()
      // The dispatcher asks all lanes in one go. One microtask later all sinks of the event are known.
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
    // The new entry replaces the entry for all sinks. It also names the sinks whose letters are not saved yet: if the process
    // crashes before, the next process writes the event to them again. A duplicate is better than a loss.
    const sinks = [...giveUps.keys(), ...unsureSinks]
    const isKept = await journal.leave({ event, sinks, job: scope.job })
    if (isKept) for (const sink of giveUps.keys()) tracked.journaledFor(sink)
    else await Promise.all(Array.from(giveUps, ([sink, giveUp]) => tracked.gaveUp(sink, giveUp)))
  }
}
