import { hashOf, IdTable } from './id-table.ts'
import type { IndexFiles } from './index-files.ts'
import type { JournalRecord } from './line.ts'
import { type LineLocation, type Put, SegmentRows } from './segment-rows.ts'
import {
  type JournalUser,
  jsonOf,
  type RecordLocation,
  type Segment,
  UnreadableError,
} from './segment-set.ts'

export const PUT = 'put'
export const DELETE = 'delete'

/** On a disk that is nearly full, a line that deletes few ids may fit where a longer one does not. */
export const IDS_PER_DELETE = 64

/** More than the rows that fit into the largest segment. */
const MAX_ROWS = 2 ** 24

interface LineIndexParts<K> {
  /** Returns the facts of a `put` record. Throws UnreadableError if the record cannot be read. */
  readonly readPut: (record: JournalRecord) => Put<K>
  /** A segment has been closed. */
  readonly onClosed: () => void
  /** Without index files every opening reads every line. */
  readonly indexFiles?: IndexFiles<K> | undefined
}

/** The row of an id. It is valid until the next change. */
interface RowRef<K> {
  readonly rows: SegmentRows<K>
  readonly row: number
}

/** The ids in a journal and their locations. The latest `put` of an id counts, unless a `delete` follows it. */
export class LineIndex<K> implements JournalUser {
  readonly #parts: LineIndexParts<K>
  /** The segments in the order of their numbers. */
  readonly #segments = new Map<number, SegmentRows<K>>()
  /** An address is segment and row in one number. */
  readonly #addresses = new IdTable(address => idOf(this.#rowAt(address)))

  constructor(parts: LineIndexParts<K>) {
    this.#parts = parts
  }

  get count(): number {
    return this.#addresses.count
  }

  get segments(): readonly SegmentRows<K>[] {
    return [...this.#segments.values()]
  }

  /** The locations in the order of writing. */
  get locations(): LineLocation[] {
    return this.segments.flatMap(rows => liveRows(rows).map(row => rows.locationOf(row)))
  }

  find(id: string): RowRef<K> | undefined {
    const address = this.#addresses.find(hashOf(id), () => id)
    return address === undefined ? undefined : this.#rowAt(address)
  }

  locationOf(id: string): LineLocation | undefined {
    const line = this.find(id)
    return line?.rows.locationOf(line.row)
  }

  /** Records of an unknown kind are ignored, because a later version may have written them. */
  apply(record: JournalRecord, location: RecordLocation): void {
    if (record.kind === PUT) this.put(this.#parts.readPut(record), location)
    if (record.kind === DELETE) this.delete(deletedIds(record), location)
  }

  put(put: Put<K>, location: RecordLocation): void {
    const rows = this.#rowsOf(location.segment)
    this.#take(rows, rows.addPut(put, location))
  }

  delete(ids: readonly string[], { segment }: Pick<RecordLocation, 'segment'>): void {
    const rows = this.#rowsOf(segment)
    for (const id of ids) this.#take(rows, rows.addDelete(id))
  }

  /** Removes an id whose line is unreadable. */
  forget(id: string): void {
    const line = this.find(id)
    if (line !== undefined) this.#setDead(line)
  }

  reset(): void {
    this.#segments.clear()
    this.#addresses.clear()
  }

  async restore(segment: Segment, size: number): Promise<boolean> {
    const rows = await this.#parts.indexFiles?.read(segment, size)
    if (rows === undefined) return false
    this.#segments.set(rows.segment, rows)
    for (let row = 0; row < rows.count; row++) this.#take(rows, row)
    return true
  }

  /** A segment with unreadable lines or a torn end gets no index file, so that each opening finds and reports them. */
  closed(segment: Segment): void {
    const rows = this.#segments.get(segment.name.number)
    if (rows !== undefined && !segment.isDamaged && !segment.isTorn && !segment.hasUnread)
      this.#parts.indexFiles?.write(segment, rows)
    this.#parts.onClosed()
  }

  /** The bytes of the segment's live `put` lines, with their newlines. */
  liveBytes(segment: number): number {
    return this.#segments.get(segment)?.liveBytes ?? 0
  }

  /** Whether the segment has `put` lines that no longer count. */
  hasDead(segment: number): boolean {
    const rows = this.#segments.get(segment)
    return rows !== undefined && rows.puts > rows.live
  }

  /** The ids and locations of the live lines. */
  liveLines(segment: number): { readonly id: string; readonly location: LineLocation }[] {
    const rows = this.#segments.get(segment)
    if (rows === undefined) return []
    return liveRows(rows).map(row => ({ id: rows.idOf(row), location: rows.locationOf(row) }))
  }

  /** The offsets of the live lines. */
  liveOffsets(segment: number): ReadonlySet<number> {
    const rows = this.#segments.get(segment)
    return new Set(rows && liveRows(rows).map(row => rows.locationOf(row).offset))
  }

  /**
   * The lines of a rewritten segment have new offsets. The segment gets new rows, so that rows of removed lines take no
   * memory. The change is synchronous, so that no reader sees half of it.
   */
  move(segment: number, moves: ReadonlyMap<number, number>): void {
    const before = this.#segments.get(segment)
    if (before === undefined) return
    const after = new SegmentRows<K>(segment)
    for (const row of liveRows(before)) {
      const { offset, length } = before.locationOf(row)
      const put = { id: before.idOf(row), ...before.factsOf(row) }
      after.addPut(put, { offset: moves.get(offset) ?? offset, length })
      this.#addresses.remove(before.hashOf(row), addressOf(before, row))
    }
    this.#segments.set(segment, after)
    for (let row = 0; row < after.count; row++) this.#setLive(after, row)
    // A line that was deleted during the rewrite is still in the new file.
    after.puts = moves.size
    if (after.puts === 0) this.#segments.delete(segment)
  }

  #rowAt(address: number): RowRef<K> {
    return { rows: this.#segments.get(Math.floor(address / MAX_ROWS))!, row: address % MAX_ROWS }
  }

  #take(rows: SegmentRows<K>, row: number): void {
    const before = this.#addresses.find(rows.hashOf(row), () => rows.idOf(row))
    if (before !== undefined) this.#setDead(this.#rowAt(before))
    if (rows.isPut(row)) this.#setLive(rows, row)
  }

  #setLive(rows: SegmentRows<K>, row: number): void {
    rows.setLive(row)
    this.#addresses.add(rows.hashOf(row), addressOf(rows, row))
  }

  #setDead({ rows, row }: RowRef<K>): void {
    rows.setDead(row)
    this.#addresses.remove(rows.hashOf(row), addressOf(rows, row))
  }

  #rowsOf(segment: number): SegmentRows<K> {
    let rows = this.#segments.get(segment)
    if (rows === undefined) {
      rows = new SegmentRows(segment)
      this.#segments.set(segment, rows)
    }
    return rows
  }
}

function addressOf<K>({ segment }: SegmentRows<K>, row: number): number {
  return segment * MAX_ROWS + row
}

function idOf<K>({ rows, row }: RowRef<K>): string {
  return rows.idOf(row)
}

function liveRows<K>(rows: SegmentRows<K>): number[] {
  return Array.from({ length: rows.count }, (_, row) => row).filter(row => rows.isLive(row))
}

function deletedIds(record: JournalRecord): readonly string[] {
  const ids = jsonOf(record)
  if (Array.isArray(ids) && ids.every(id => typeof id === 'string')) return ids
  throw new UnreadableError('no list of ids')
}
