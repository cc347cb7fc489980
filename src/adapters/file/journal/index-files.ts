import { deserialize, serialize } from 'node:v8'
import { crc32 } from 'node:zlib'
import { type Files, readWhole } from './files.ts'
import { type RowsContents, SegmentRows } from './segment-rows.ts'
import type { Segment } from './segment-set.ts'
import type { SegmentFolder } from './segments.ts'

const VERSION = 4
const CRC_BYTES = 4

interface Contents<K> extends RowsContents<K> {
  readonly v: number
  /** The length of the segment. An index for another length cannot be used. */
  readonly bytes: number
}

/** Writes a checksum, then the rows in V8's serialisation. */
export function writeIndex<K>(rows: SegmentRows<K>, bytes: number): Buffer {
  const contents: Contents<K> = { v: VERSION, bytes, ...rows.contents }
  const body = serialize(contents)
  const crc = Buffer.alloc(CRC_BYTES)
  crc.writeUInt32LE(crc32(body))
  return Buffer.concat([crc, body])
}

/** Returns undefined if the index is damaged, has another version, or belongs to a segment of another length. */
export function readIndex<K>(file: Buffer, segment: number, bytes: number): SegmentRows<K> | undefined {
  const body = file.subarray(CRC_BYTES)
  if (file.length < CRC_BYTES || file.readUInt32LE() !== crc32(body)) return undefined
  const { v, bytes: of, kinds, ids, numbers, times }: Contents<K> = deserialize(body)
  if (v !== VERSION || of !== bytes) return undefined
  // The rows are copied, because views would keep the whole file in memory.
  return new SegmentRows(segment, {
    kinds,
    ids: Buffer.from(ids),
    numbers: numbers.buffer === body.buffer ? numbers.slice() : numbers,
    times: times.buffer === body.buffer ? times.slice() : times,
  })
}

/**
 * The rows of closed segments, each in a file beside its segment. With them, opening a folder reads a tenth of its bytes
 * and parses no line. They only repeat the content of segments, so a lost or damaged file is created again.
 */
export class IndexFiles<K> {
  readonly #files: Files
  readonly #folder: SegmentFolder
  #writing: Promise<void> = Promise.resolve()

  constructor(files: Files, folder: SegmentFolder) {
    this.#files = files
    this.#folder = folder
  }

  async read({ name }: Segment, bytes: number): Promise<SegmentRows<K> | undefined> {
    try {
      const file = await readWhole(this.#files, this.#folder.path(name, 'index'))
      return readIndex(file, name.number, bytes)
    } catch {
      return undefined
    }
  }

  write(segment: Segment, rows: SegmentRows<K>): void {
    const { revision } = segment.name
    this.#writing = this.#writing
      // The rows of a segment that was rewritten meanwhile are outdated.
      .then(() => (segment.name.revision === revision ? this.#write(segment, rows) : undefined))
      .catch(() => {})
  }

  /** Resolves when no index file is being written. */
  settle(): Promise<void> {
    return this.#writing
  }

  /** Writes the file under a temporary name first, so that a reader finds all of it or nothing. */
  async #write({ name }: Segment, rows: SegmentRows<K>): Promise<void> {
    const bytes = writeIndex(rows, await this.#files.sizeOf(this.#folder.path(name)))
    const path = this.#folder.path(name, 'index.tmp')
    const fd = await this.#files.open(path, 'w')
    try {
      await this.#files.write(fd, bytes, 0)
    } finally {
      await this.#files.close(fd)
    }
    await this.#files.rename(path, this.#folder.path(name, 'index'))
  }
}
