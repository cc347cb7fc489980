import { isHeld, LETTER_STATES } from '../../../core/dead-letter/state.ts'
import type { LetterTable } from '../letters/letter-table.ts'
import { inAnyOrder } from '../letters/selection.ts'

const MOST_CHANNELS = 20
/** By the numbers that states have in the index. */
const IS_HELD = [false, ...LETTER_STATES.map(isHeld)]
const RESOLVED = LETTER_STATES.indexOf('resolved') + 1

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

/** All groups, or the one asked for, added up from the rows of the index. */
export async function tallyRows(table: LetterTable, only?: string): Promise<IndexedGroup[]> {
  const tallies = new Map<string, Tally>()
  const { columns, kinds } = table.index
  for await (const rows of inAnyOrder(table, only === undefined ? {} : { group: only })) {
    for (const row of rows) {
      const { group, channel } = kinds.all[columns.kind[row]!]!
      let tally = tallies.get(group)
      if (tally === undefined) {
        tally = new Tally()
        tallies.set(group, tally)
      }
      tally.add(table, row, channel)
    }
    // Before others have their turn, while the rows are still those of these letters.
    for (const tally of tallies.values()) tally.settle(table)
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
  #newestRow: number | undefined
  #newest = ''

  add({ index: { columns } }: LetterTable, row: number, channel: string): void {
    const state = columns.state[row]!
    const isReplayed = columns.isReplayed[row] === 1
    this.#count++
    if (IS_HELD[state]) this.#waiting++
    if (isReplayed) this.#replayed++
    if (isReplayed && state === RESOLVED) this.#recovered++
    this.#channels.set(channel, (this.#channels.get(channel) ?? 0) + 1)
    this.#firstSeenAt = Math.min(this.#firstSeenAt, columns.firstFailedAt[row]!)
    if (columns.lastFailedAt[row]! < this.#lastSeenAt) return
    this.#lastSeenAt = columns.lastFailedAt[row]!
    this.#newestRow = row
  }

  settle({ index }: LetterTable): void {
    if (this.#newestRow !== undefined) this.#newest = index.idOf(this.#newestRow)
    this.#newestRow = undefined
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
