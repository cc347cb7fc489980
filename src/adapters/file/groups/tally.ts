import { isHeld } from '../../../core/dead-letter/state.ts'
import type { Kind, LetterIndex } from '../letters/facts.ts'
import { type Found, matching } from '../letters/selection.ts'

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
    for (const seen of seenOfKinds(found)) {
      const tally = tallies.get(seen.kind.group) ?? new Tally()
      tallies.set(seen.kind.group, tally)
      tally.add(seen)
    }
  return [...tallies].map(([group, tally]) => tally.close(group))
}

/** Letters of one kind in one segment. */
interface Seen {
  readonly kind: Kind
  count: number
  firstAt: number
  lastAt: number
  newest: string
}

/** Added up by kind first, which is a matter of numbers. */
function seenOfKinds({ rows, found }: Found): Seen[] {
  const newestRows = rows.kinds.map(() => 0)
  const all = rows.kinds.map(
    (kind): Seen => ({
      kind,
      count: 0,
      firstAt: Number.POSITIVE_INFINITY,
      lastAt: Number.NEGATIVE_INFINITY,
      newest: '',
    }),
  )
  for (const row of found) {
    const number = rows.kindNumber(row)
    const seen = all[number]!
    seen.count++
    seen.firstAt = Math.min(seen.firstAt, rows.firstFailedAt(row))
    if (rows.lastFailedAt(row) < seen.lastAt) continue
    seen.lastAt = rows.lastFailedAt(row)
    newestRows[number] = row
  }
  for (const [number, seen] of all.entries()) if (seen.count > 0) seen.newest = rows.idOf(newestRows[number]!)
  return all.filter(({ count }) => count > 0)
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

  add({ kind: { channel, state, isReplayed }, count, firstAt, lastAt, newest }: Seen): void {
    this.#count += count
    if (isHeld(state)) this.#waiting += count
    if (isReplayed) this.#replayed += count
    if (isReplayed && state === 'resolved') this.#recovered += count
    this.#channels.set(channel, (this.#channels.get(channel) ?? 0) + count)
    this.#firstSeenAt = Math.min(this.#firstSeenAt, firstAt)
    if (lastAt < this.#lastSeenAt) return
    this.#lastSeenAt = lastAt
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
