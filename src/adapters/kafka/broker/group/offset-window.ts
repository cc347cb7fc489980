import type { Progress } from './progress.ts'

/** The first time, what made it a suspect is put down to it as well. */
const FIRST_CRASH = 2

/**
 * The offsets of a partition between what is settled and what was read. A commit can only say "everything before this
 * offset is settled", so that the window knows which of the later ones are settled too.
 */
export class OffsetWindow {
  /** The records that were read and are not settled, ascending. */
  readonly #unsettled = new Set<number>()
  /** Settled ranges of an earlier owner that were not read again yet. */
  readonly #settledBefore: (readonly [from: number, to: number])[]
  readonly #crashes: Map<number, number>
  #suspectsBelow: number
  /** The offset after the last one that was read. */
  #readTo: number
  /** The first offset that was read here; undefined before that. */
  #firstRead: number | undefined

  constructor({ position, settled, upTo, suspectsBelow, crashes, running }: Progress) {
    this.#readTo = position
    this.#settledBefore = [...settled]
    this.#suspectsBelow = Math.max(suspectsBelow, upTo)
    this.#crashes = new Map(crashes)
    // It ran alone when its consumer died.
    if (running !== undefined) {
      const before = this.#crashes.get(running) ?? 0
      this.#crashes.set(running, before === 0 ? FIRST_CRASH : before + 1)
    }
  }

  /** Everything before this offset is settled. */
  get position(): number {
    for (const first of this.#unsettled) return first
    return this.#readTo
  }

  /** The offset to read next. */
  get readTo(): number {
    return this.#readTo
  }

  get unsettled(): number {
    return this.#unsettled.size
  }

  /** A record was read. Answers whether it is to be delivered: an earlier owner may have settled it. */
  read(offset: number): boolean {
    this.#readTo = offset + 1
    this.#firstRead ??= offset
    const settled = this.#settledBefore
    while (settled.length > 0 && settled[0]![1] <= offset) settled.shift()
    if (settled.length > 0 && settled[0]![0] <= offset) return false
    this.#unsettled.add(offset)
    return true
  }

  /** Everything before this offset was read: records can be missing, because of compaction and transactions. */
  skipTo(offset: number): void {
    this.#readTo = Math.max(this.#readTo, offset)
  }

  /** Whether the record is still to be read or settled. Undefined if it was never read here and is behind what was. */
  isPending(offset: number): boolean | undefined {
    if (offset >= this.#readTo || this.#unsettled.has(offset)) return true
    return this.#firstRead !== undefined && offset >= this.#firstRead ? false : undefined
  }

  settle(offset: number): void {
    this.#unsettled.delete(offset)
    this.#crashes.delete(offset)
  }

  /** What was not in the topic when the window was opened has not begun anywhere. */
  limitSuspects(end: number): void {
    this.#suspectsBelow = Math.min(this.#suspectsBelow, end)
  }

  isSuspect(offset: number): boolean {
    return offset < this.#suspectsBelow
  }

  crashesOf(offset: number): number {
    return this.#crashes.get(offset) ?? 0
  }

  /** What a commit says now. `upTo` announces which attempts may have begun when it is read. */
  progress(upTo: number, running: number | undefined): Progress {
    const { position } = this
    return {
      position,
      settled: this.#settledRanges(position),
      upTo: Math.max(upTo, position),
      suspectsBelow: Math.max(this.#suspectsBelow, position),
      crashes: this.#crashes,
      running,
    }
  }

  #settledRanges(position: number): (readonly [number, number])[] {
    const ranges: (readonly [number, number])[] = []
    let from = position
    for (const offset of this.#unsettled) {
      if (offset > from) ranges.push([from, offset])
      from = offset + 1
    }
    if (this.#readTo > from) ranges.push([from, this.#readTo])
    for (const [first, to] of this.#settledBefore)
      if (to > this.#readTo) ranges.push([Math.max(first, this.#readTo), to])
    return ranges
  }
}
