import { type ItemStatus, NO_COUNTS, type ReplayCounts, type ReplayItem } from '../../../ports/replays.ts'
import type { JournalRecord } from '../journal/line.ts'
import { type JournalUser, UnreadableError } from '../journal/segment-set.ts'

const ITEMS = 'items'
/** Items in one line: what is written together is one step, and a line is that in any case. */
const ITEMS_PER_LINE = 1_000

export function itemRecord(items: readonly ReplayItem[]): JournalRecord {
  return { kind: ITEMS, text: JSON.stringify(items) }
}

export function itemRecords(items: readonly ReplayItem[]): JournalRecord[] {
  const records: JournalRecord[] = []
  for (let start = 0; start < items.length; start += ITEMS_PER_LINE) {
    records.push(itemRecord(items.slice(start, start + ITEMS_PER_LINE)))
  }
  return records
}

/** The items of one replay, each as it was written last. */
export class ItemBook implements JournalUser {
  readonly #items: ReplayItem[] = []

  apply({ kind, text }: JournalRecord): void {
    if (kind !== ITEMS) return
    const items: unknown = JSON.parse(text)
    if (!Array.isArray(items)) throw new UnreadableError('no list of items')
    this.put(items)
  }

  put(items: readonly ReplayItem[]): void {
    for (const item of items) this.#items[item.position] = item
  }

  reset(): void {
    this.#items.length = 0
  }

  select(status: ItemStatus | undefined, after: number, limit: number): ReplayItem[] {
    const selected: ReplayItem[] = []
    for (let at = after + 1; at < this.#items.length && selected.length < limit; at++) {
      const item = this.#items[at]
      if (item !== undefined && (status ?? item.status) === item.status) selected.push(item)
    }
    return selected
  }

  counts(): ReplayCounts {
    const counts = { ...NO_COUNTS } as { -readonly [S in ItemStatus]: number }
    this.#items.forEach(({ status }) => {
      counts[status]++
    })
    return counts
  }
}
