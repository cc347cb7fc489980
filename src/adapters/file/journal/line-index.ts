import { hashOf, IdTable } from './id-table.ts'
import type { IndexFiles } from './index-files.ts'
import type { JournalRecord } from './line.ts'
import { type Put, SegmentRows } from './segment-rows.ts'
import { type JournalUser, type RecordLocation, type Segment, UnreadableError } from './segment-set.ts'

export const PUT = 'put'
export const DELETE = 'delete'

/** Larger than the number of rows that fit into a segment of the largest size. */
const MAX_ROWS = 2 ** 24

interface LineIndexParts<K> {
  /** What a `put` record is about. Throws UnreadableError when it cannot tell. */
  readonly readPut: (record: JournalRecord) => Put<K>
  /** A segment has been closed. */
  readonly onClosed: () => void
  /** Without them every opening reads every line. */
  readonly indexFiles?: IndexFiles<K> | undefined
}

/** Where the index knows something of an id. Good until something else happens. */
interface RowRef<K> {
  readonly rows: SegmentRows<K>
  readonly row: number
}

/** Which ids there are in a journal, and where: each is its latest `put`, unless a `delete` came after it. */
export class LineIndex<K> implements JournalUser {
  readonly #parts: LineIndexParts<K>
  /** In the order of their numbers. */
  readonly #segments = new Map<number, SegmentRows<K>>()
  /** Segment and row as one number. */
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

  /** In the order of writing. */
  get locations(): RecordLocation[] {
    return this.segments.flatMap(rows => liveRows(rows).map(row => rows.locationOf(row)))
  }

  find(id: string): RowRef<K> | undefined {
    const address = this.#addresses.find(hashOf(id), () => id)
    return address === undefined ? undefined : this.#rowAt(address)
  }

  locationOf(id: string): RecordLocation | undefined {
    const line = this.find(id)
    return line?.rows.locationOf(line.row)
  }

  /** A kind of record that a later version writes is left as it is. */
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

  /** Its line cannot be read any more. */
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

  /** A segment with unreadable lines gets no index file, so that each opening finds and reports them. */
  closed(segment: Segment): void {
    const rows = this.#segments.get(segment.name.number)
    if (rows !== undefined && !segment.isDamaged && !segment.hasUnread)
      this.#parts.indexFiles?.write(segment, rows)
    this.#parts.onClosed()
  }

  /** Bytes of the segment's `put` lines that still count, newlines included. */
  liveBytes(segment: number): number {
    return this.#segments.get(segment)?.liveBytes ?? 0
  }

  /** Whether it has `put` lines that count no more. */
  hasDead(segment: number): boolean {
    const rows = this.#segments.get(segment)
    return rows !== undefined && rows.puts > rows.live
  }

  /** Where those that count begin. */
  liveOffsets(segment: number): ReadonlySet<number> {
    const rows = this.#segments.get(segment)
    return new Set(rows && liveRows(rows).map(row => rows.locationOf(row).offset))
  }

  /**
   * Lines lie elsewhere in their segment now. It gets new rows, so that those of lines that are gone take up no memory;
   * all of it at once, without waiting for anything.
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
    // A line that was deleted while the segment was rewritten is still in it.
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

function deletedIds({ text }: JournalRecord): readonly string[] {
  const ids: unknown = JSON.parse(text)
  if (Array.isArray(ids) && ids.every(id => typeof id === 'string')) return ids
  throw new UnreadableError('no list of ids')
}
