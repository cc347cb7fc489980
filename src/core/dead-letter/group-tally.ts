import type { Category } from '../failure/failure.ts'
import { type Grouping, groupingOf } from './group.ts'
import type { DeadLetter } from './letter.ts'
import { isHeld, type LetterState } from './state.ts'

/** The facts about a group that follow from its letters. Triage is stored separately. */
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

const MAX_CHANNELS = 20

/** The counted facts of a group: everything except its identity. */
export type GroupCounts = Omit<GroupTally, keyof Grouping | 'category'>

interface Counted {
  readonly channel: string
  readonly state: LetterState
  readonly isReplayed: boolean
}

/** Counts the letters of one group, one at a time or many equal ones at once. */
export class GroupCounter {
  readonly #channels = new Map<string, number>()
  #count = 0
  #waiting = 0
  #replayed = 0
  #recovered = 0
  #firstSeenAt = Number.POSITIVE_INFINITY
  #lastSeenAt = Number.NEGATIVE_INFINITY

  add({ channel, state, isReplayed }: Counted, count: number, firstFailedAt: number, newestAt: number): void {
    this.#count += count
    if (isHeld(state)) this.#waiting += count
    if (isReplayed) this.#replayed += count
    if (isReplayed && state === 'resolved') this.#recovered += count
    this.#channels.set(channel, (this.#channels.get(channel) ?? 0) + count)
    this.#firstSeenAt = Math.min(this.#firstSeenAt, firstFailedAt)
    this.#lastSeenAt = Math.max(this.#lastSeenAt, newestAt)
  }

  get counts(): GroupCounts {
    const channels = [...this.#channels].sort(([, a], [, b]) => b - a).map(([channel]) => channel)
    return {
      channels: channels.slice(0, MAX_CHANNELS),
      count: this.#count,
      waiting: this.#waiting,
      firstSeenAt: this.#firstSeenAt,
      lastSeenAt: this.#lastSeenAt,
      replayed: this.#replayed,
      recovered: this.#recovered,
    }
  }
}

/**
 * Counts letters by group. It is for stores that read every letter; other stores count when letters are added and
 * removed.
 */
export function tallyGroups(letters: Iterable<DeadLetter>): Map<string, GroupTally> {
  const groups = new Map<string, { grouping: Grouping; category: Category; counter: GroupCounter }>()
  for (const letter of letters) {
    const grouping = groupingOf(letter)
    const { channel, state, cycle, endedCycles, replays } = letter
    const group = groups.get(grouping.id) ?? {
      grouping,
      category: cycle.category,
      counter: new GroupCounter(),
    }
    groups.set(grouping.id, group)
    const firstFailedAt = endedCycles[0]?.firstFailedAt ?? cycle.firstFailedAt
    group.counter.add({ channel, state, isReplayed: replays > 0 }, 1, firstFailedAt, cycle.lastFailedAt)
  }
  return new Map(
    [...groups].map(([id, { grouping, category, counter }]) => [
      id,
      { ...grouping, category, ...counter.counts },
    ]),
  )
}
