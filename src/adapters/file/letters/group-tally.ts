import { isHeld } from '../../../core/dead-letter/state.ts'
import { byKind, type OfKind } from './by-kind.ts'
import type { LetterIndex } from './facts.ts'
import { matching } from './selection.ts'

const MOST_CHANNELS = 20

/** What the index says about a group; its title is in its letters. */
export interface IndexedGroup {
  readonly id: string
  readonly count: number
  readonly waiting: number
  readonly replayed: number
  readonly recovered: number
  readonly firstSeenAt: number
  readonly lastSeenAt: number
  readonly channels: readonly string[]
  /** The id of its newest letter. */
  readonly newest: string
}

/** All groups, or the one asked for, added up from the index. */
export async function tallyGroups(index: LetterIndex, only?: string): Promise<IndexedGroup[]> {
  const tallies = new Map<string, Tally>()
  for await (const found of matching(index, only === undefined ? {} : { group: only }))
    for (const letters of byKind(found)) {
      const { group } = letters.kind
      const tally = tallies.get(group) ?? new Tally()
      tallies.set(group, tally)
      tally.add(letters)
    }
  return [...tallies].map(([group, tally]) => tally.close(group))
}

class Tally {
  readonly #channels = new Map<string, number>()
  #count = 0
  #waiting = 0
  #replayed = 0
  #recovered = 0
  #firstSeenAt = Number.POSITIVE_INFINITY
  #lastSeenAt = Number.NEGATIVE_INFINITY
  #newest = ''

  add({ kind, count, firstFailedAt, newestAt, newest }: OfKind): void {
    const { channel, state, isReplayed } = kind
    this.#count += count
    if (isHeld(state)) this.#waiting += count
    if (isReplayed) this.#replayed += count
    if (isReplayed && state === 'resolved') this.#recovered += count
    this.#channels.set(channel, (this.#channels.get(channel) ?? 0) + count)
    this.#firstSeenAt = Math.min(this.#firstSeenAt, firstFailedAt)
    if (newestAt < this.#lastSeenAt) return
    this.#lastSeenAt = newestAt
    this.#newest = newest
  }

  close(id: string): IndexedGroup {
    const channels = [...this.#channels].sort(([, a], [, b]) => b - a).slice(0, MOST_CHANNELS)
    return {
      id,
      count: this.#count,
      waiting: this.#waiting,
      replayed: this.#replayed,
      recovered: this.#recovered,
      firstSeenAt: this.#firstSeenAt,
      lastSeenAt: this.#lastSeenAt,
      channels: channels.map(([channel]) => channel),
      newest: this.#newest,
    }
  }
}
