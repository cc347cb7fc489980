import { type JournalRecord, mostLineBytes, writeLine } from './line.ts'

const FIRST_BYTES = 65_536
/** A buffer that one large batch has made larger than this is not kept. */
const MOST_KEPT_BYTES = 4_194_304

/** Where a line begins among the bytes, and how long it is without its newline. */
export interface Span {
  readonly offset: number
  readonly length: number
}

/** Puts the lines of a batch one behind the other, in a buffer that the next batch uses again. */
export class LineWriter {
  #buffer = Buffer.allocUnsafe(FIRST_BYTES)
  #end = 0

  /** The lines so far; good until the next `clear`. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#end)
  }

  get length(): number {
    return this.#end
  }

  add(record: JournalRecord): Span {
    this.#reserve(mostLineBytes(record))
    const offset = this.#end
    this.#end = writeLine(this.#buffer, offset, record)
    return { offset, length: this.#end - offset - 1 }
  }

  clear(): void {
    this.#end = 0
    if (this.#buffer.length > MOST_KEPT_BYTES) this.#buffer = Buffer.allocUnsafe(FIRST_BYTES)
  }

  #reserve(bytes: number): void {
    const needed = this.#end + bytes
    if (needed <= this.#buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2))
    larger.set(this.bytes)
    this.#buffer = larger
  }
}
