import type { Category } from '../failure/failure.ts'
import { type Grouping, groupingOf } from './group.ts'
import type { DeadLetter } from './letter.ts'
import { isHeld } from './state.ts'

/** What the letters of a group say about it; what people say is kept elsewhere. */
export interface GroupTally extends Grouping {
  readonly category: Category
  readonly channels: readonly string[]
  readonly count: number
  readonly waiting: number
  readonly firstSeenAt: number
  readonly lastSeenAt: number
  readonly replayed: number
  readonly recovered: number
}

const MOST_CHANNELS = 20

/** Adds letters up to groups, by id. For stores that look at every letter; others count as letters come and go. */
export function tallyGroups(letters: Iterable<DeadLetter>): Map<string, GroupTally> {
  const tallies = new Map<string, Open>()
  for (const letter of letters) {
    const grouping = groupingOf(letter)
    let tally = tallies.get(grouping.id)
    if (tally === undefined) {
      tally = new Open(grouping, letter.cycle.category)
      tallies.set(grouping.id, tally)
    }
    tally.add(letter)
  }
  return new Map([...tallies].map(([id, tally]) => [id, tally.close()]))
}

class Open {
  readonly #grouping: Grouping
  readonly #category: Category
  readonly #channels = new Map<string, number>()
  #count = 0
  #waiting = 0
  #replayed = 0
  #recovered = 0
  #firstSeenAt = Number.POSITIVE_INFINITY
  #lastSeenAt = Number.NEGATIVE_INFINITY

  constructor(grouping: Grouping, category: Category) {
    this.#grouping = grouping
    this.#category = category
  }

  add({ channel, cycle, endedCycles, state, replays }: DeadLetter): void {
    this.#count++
    if (isHeld(state)) this.#waiting++
    if (replays > 0) this.#replayed++
    if (replays > 0 && state === 'resolved') this.#recovered++
    this.#channels.set(channel, (this.#channels.get(channel) ?? 0) + 1)
    this.#firstSeenAt = Math.min(this.#firstSeenAt, endedCycles[0]?.firstFailedAt ?? cycle.firstFailedAt)
    this.#lastSeenAt = Math.max(this.#lastSeenAt, cycle.lastFailedAt)
  }

  close(): GroupTally {
    const channels = [...this.#channels].sort(([, a], [, b]) => b - a).map(([channel]) => channel)
    return {
      ...this.#grouping,
      category: this.#category,
      channels: channels.slice(0, MOST_CHANNELS),
      count: this.#count,
      waiting: this.#waiting,
      firstSeenAt: this.#firstSeenAt,
      lastSeenAt: this.#lastSeenAt,
      replayed: this.#replayed,
      recovered: this.#recovered,
    }
  }
}
