import type { JournalRecord } from './line.ts'
import type { LineWriter, Span } from './line-writer.ts'
import type { Place } from './segment-set.ts'
import type { Tail } from './tail.ts'

/** Something to be written. */
export interface Write {
  /**
   * Asked under the lock, when everything that was written before is known: what to write, if anything. What it throws
   * becomes its failure and nobody else's.
   */
  records(): readonly JournalRecord[] | Promise<readonly JournalRecord[]>
  /** They are durable, in these places. */
  written(places: readonly Place[]): void
  failed(error: unknown): void
}

/** Writes that share one sync: all of them are durable, or none. */
export class Batch {
  readonly #lines: LineWriter
  readonly #writes: Write[] = []
  /** Of each write, where its lines lie among those of the batch. */
  readonly #spans: Span[][] = []

  constructor(lines: LineWriter) {
    this.#lines = lines
    lines.clear()
  }

  get bytes(): number {
    return this.#lines.length
  }

  add(write: Write): Promise<void> | undefined {
    try {
      const records = write.records()
      if (records instanceof Promise) {
        return records.then(
          known => this.#take(write, known),
          error => write.failed(error),
        )
      }
      this.#take(write, records)
    } catch (error) {
      write.failed(error)
    }
    return undefined
  }

  async commit(tail: Tail): Promise<void> {
    try {
      if (this.bytes === 0) this.#tell(0, 0)
      else {
        const { segment, offset } = await tail.append(this.#lines.bytes)
        this.#tell(segment.name.number, offset)
      }
    } catch (error) {
      for (const write of this.#writes) write.failed(error)
    }
  }

  #tell(segment: number, start: number): void {
    for (const [index, write] of this.#writes.entries()) {
      try {
        write.written(
          this.#spans[index]!.map(({ offset, length }) => ({ segment, offset: start + offset, length })),
        )
      } catch (error) {
        // Its own trouble: the others are told all the same.
        write.failed(error)
      }
    }
  }

  #take(write: Write, records: readonly JournalRecord[]): void {
    this.#spans.push(records.map(record => this.#lines.add(record)))
    this.#writes.push(write)
  }
}
