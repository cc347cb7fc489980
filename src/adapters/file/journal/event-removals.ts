import { portionsOf } from '../../../adapter-kit/portions.ts'
import { StoreLockedError } from '../errors.ts'
import type { Decision } from './commits.ts'
import type { Compaction } from './compaction.ts'
import type { Journal } from './journal.ts'
import { DELETE, IDS_PER_DELETE, type LineIndex } from './line-index.ts'

export const NOTHING: Decision<void> = Object.freeze({ records: [], written: () => {} })

/**
 * The removals of a dispatcher's journal that are not written yet. A removal is lazy: it joins the next write. If that write is
 * refused, the removal is remembered and tried again after each later write and when the journal closes. Each id that
 * waits here is in the journal, or its line is being written.
 */
export class EventRemovals {
  readonly #lines: Journal
  readonly #index: LineIndex<unknown>
  readonly #compaction: Compaction
  /** Events whose line is decided and not written yet, and of which the index knows no other line. */
  readonly #arriving = new Set<string>()
  /** Removed events whose removal is not written yet. */
  readonly #leaving = new Set<string>()
  /** Those of them whose removal was refused. */
  readonly #refused = new Set<string>()
  /** Whether more removals were refused since the last look for files that can be removed. */
  #mayFreeFiles = false
  #retrying: Promise<void> | undefined
  #isClosing = false

  constructor(lines: Journal, index: LineIndex<unknown>, compaction: Compaction) {
    this.#lines = lines
    this.#index = index
    this.#compaction = compaction
  }

  /** Removed events whose removal is not written yet. */
  get leaving(): ReadonlySet<string> {
    return this.#leaving
  }

  /** The number of stored events that stay. */
  get size(): number {
    return this.#index.count - [...this.#leaving].filter(id => this.#isStored(id)).length
  }

  /** Whether the event is in the journal, and is to stay there. */
  isKept(id: string): boolean {
    return this.#isStored(id) && !this.#leaving.has(id)
  }

  /** The number of events that stay, with those that are being written. Unlike `size`, it is cheap. */
  get countWithArriving(): number {
    return this.#index.count + this.#arriving.size - this.#leaving.size
  }

  /** The line of an event is decided. It comes after all removals of the event that are decided, or were refused. */
  put(id: string): { written(): void; failed(): void } {
    const wasRefused = this.#refused.delete(id)
    this.#leaving.delete(id)
    if (!this.#isStored(id)) this.#arriving.add(id)
    return {
      written: () => {
        this.#arriving.delete(id)
      },
      failed: () => {
        this.#arriving.delete(id)
        if (wasRefused) this.#refuse(id)
      },
    }
  }

  /** The turn of the removal decides whether there is such an event: its append may be under way. */
  remove(id: string): void {
    if (this.#isStored(id) || this.#arriving.has(id)) this.#leaving.add(id)
    const removed = this.#lines.decide(() => this.#delete([id]), true)
    removed.catch(() => this.#refuse(id)).finally(() => this.retry())
  }

  /** Starts to write the removals that were refused. Call it after each write. */
  retry(): void {
    if (this.#refused.size === 0 || this.#isClosing) return
    this.#retrying ??= this.#writeAll().finally(() => {
      this.#retrying = undefined
    })
  }

  /** Writes all removals, as far as the disk allows it. Nothing may be added after this call. */
  async close(): Promise<void> {
    this.#isClosing = true
    await this.#retrying
    this.#mayFreeFiles = true
    if (this.#leaving.size > 0) await this.#writeAll()
  }

  /**
   * A removal is a line in a file and needs disk space. On a full disk only whole files can be removed: those whose events are
   * all removed. The file that is written to is closed when a write to it fails, so the second round can remove it too.
   */
  async #writeAll(): Promise<void> {
    const isRefused = (id: string) => this.#refused.has(id)
    for (let round = 1; round <= 2; round++) {
      try {
        // Lazy removals join this decision.
        await this.#lines.decide(() => NOTHING)
        for (const ids of portionsOf([...this.#refused], IDS_PER_DELETE))
          await this.#lines.decide(() => this.#delete(ids.filter(isRefused)))
        return
      } catch (error) {
        if (error instanceof StoreLockedError || !this.#mayFreeFiles) return
        if (round === 2) this.#mayFreeFiles = false
        await this.#compaction.removeFilesOf(isRefused).catch(() => {})
        for (const id of this.#refused) if (this.#isGone(id)) this.#forget(id)
      }
    }
  }

  #delete(ids: readonly string[]): Decision<void> {
    const due = ids.filter(id => this.#isStored(id) || this.#arriving.has(id))
    for (const id of ids) if (!due.includes(id)) this.#forget(id)
    if (due.length === 0) return NOTHING
    for (const id of due) this.#leaving.add(id)
    return {
      records: [{ kind: DELETE, text: JSON.stringify(due) }],
      written: ([location]) => {
        this.#index.delete(due, location!)
        for (const id of due) this.#forget(id)
      },
    }
  }

  #refuse(id: string): void {
    if (this.#isGone(id)) this.#forget(id)
    else if (this.#isStored(id) || this.#leaving.has(id)) {
      this.#leaving.add(id)
      this.#refused.add(id)
      this.#mayFreeFiles = true
    }
  }

  #forget(id: string): void {
    this.#leaving.delete(id)
    this.#refused.delete(id)
  }

  /** While the files are read again, the index does not know every event. */
  #isGone(id: string): boolean {
    return !this.#lines.segments.isPartial && !this.#isStored(id)
  }

  #isStored(id: string): boolean {
    return this.#index.find(id) !== undefined
  }
}
