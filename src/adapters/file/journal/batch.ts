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

type Outcome =
  | { readonly kind: 'written'; readonly segment: number; readonly offset: number }
  | { readonly kind: 'failed'; readonly error: unknown }

/** Writes that share one sync: all of them are durable, or none. */
export class Batch {
  readonly #lines: LineWriter
  readonly #writes: Write[] = []
  /** Of each write, where its lines lie among those of the batch. */
  readonly #spans: Span[][] = []
  #outcome: Outcome | undefined

  constructor(lines: LineWriter) {
    this.#lines = lines
    lines.clear()
  }

  get bytes(): number {
    return this.#lines.length
  }

  get size(): number {
    return this.#writes.length
  }

  get hasFailed(): boolean {
    return this.#outcome?.kind === 'failed'
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

  /** Resolves when it is known what became of it; nobody is told yet. */
  async append(tail: Tail): Promise<void> {
    if (this.bytes === 0) {
      this.#outcome = { kind: 'written', segment: 0, offset: 0 }
      return
    }
    try {
      const { segment, offset } = await tail.append(this.#lines.bytes)
      this.#outcome = { kind: 'written', segment: segment.name.number, offset }
    } catch (error) {
      this.#outcome = { kind: 'failed', error }
    }
  }

  /** Tells everyone. */
  settle(): void {
    const outcome = this.#outcome!
    for (const [index, write] of this.#writes.entries()) {
      if (outcome.kind === 'failed') write.failed(outcome.error)
      else this.#tellWritten(write, outcome, this.#spans[index]!)
    }
  }

  #tellWritten(write: Write, outcome: Outcome & { readonly kind: 'written' }, spans: readonly Span[]): void {
    try {
      write.written(spans.map(span => placeOf(outcome, span)))
    } catch (error) {
      // Its own trouble: the others are told all the same.
      write.failed(error)
    }
  }

  #take(write: Write, records: readonly JournalRecord[]): void {
    this.#spans.push(records.map(record => this.#lines.add(record)))
    this.#writes.push(write)
  }
}

function placeOf(outcome: { readonly segment: number; readonly offset: number }, span: Span): Place {
  return { segment: outcome.segment, offset: outcome.offset + span.offset, length: span.length }
}
