import { sumOf } from '../../../adapter-kit/expiry.ts'
import {
  examinedHandlers,
  examinedStats,
  examinedTimeline,
  examinedVersions,
  isExamined,
  listExamined,
} from '../../../adapter-kit/query/examined-letters.ts'
import { resolveLetterFilter, resolveLetterQuery } from '../../../adapter-kit/query/letter-query.ts'
import { resolveTimeline } from '../../../adapter-kit/query/letter-timeline.ts'
import { readableLetter } from '../../../adapter-kit/query/readable-letters.ts'
import { changeLetter } from '../../../core/dead-letter/change.ts'
import { encodeLetter } from '../../../core/dead-letter/json.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { mergeLetter } from '../../../core/dead-letter/merge.ts'
import type { Retention } from '../../../core/dead-letter/retention.ts'
import {
  type DeadLetterStore,
  DeadLettersClosedError,
  DeadLettersFullError,
  type HandlerCount,
  type LetterChange,
  type LetterCounts,
  type LetterFilter,
  type LetterPage,
  type LetterQuery,
  type LetterStats,
  type LetterVersion,
  type SeenLetter,
  type TimelineSpan,
} from '../../../ports/dead-letters.ts'
import { RedisError } from '../errors.ts'
import type { KnownLetter, LetterRecords } from './letter-records.ts'
import { countByHandler, countLetters, countOverTime, listLetters, versionsOf } from './queries.ts'
import { deleteAllSeen, deleteSeen, measure, type RedisUsage, recordExpired, removeDue } from './scripts.ts'

const OUT_OF_MEMORY = 'the server is out of memory; raise maxmemory, or discard, replay or expire letters'

/**
 * Dead letters on a server. This class decides each change of a letter from the version that it read, and writes it
 * only if the letter still has that version; all indexes of the letter are written in the same script.
 */
export class RedisDeadLetters implements DeadLetterStore {
  readonly #name: string
  readonly #records: LetterRecords
  readonly retention: Retention
  readonly #onClose: (() => Promise<void>) | undefined
  readonly #underWay = new Set<Promise<unknown>>()
  #closing: Promise<void> | undefined

  /** `onClose` closes what only these letters use. */
  constructor(
    { name, retentionMs, expireUndecidedAfterMs }: Retention & { readonly name: string },
    records: LetterRecords,
    onClose?: () => Promise<void>,
  ) {
    this.#name = name
    this.#records = records
    this.retention = { retentionMs, expireUndecidedAfterMs }
    this.#onClose = onClose
  }

  send(letter: DeadLetter): Promise<void> {
    return this.#track(() => this.#send(letter))
  }

  list(query?: LetterQuery): Promise<LetterPage> {
    if (query !== undefined && isExamined(query)) return listExamined(this, query)
    return this.#track(() => listLetters(this.#records, resolveLetterQuery(query)))
  }

  get(id: string): Promise<DeadLetter | undefined> {
    return this.#track(async () => (await this.#records.read(id))?.letter)
  }

  change(id: string, change: LetterChange): Promise<DeadLetter | undefined> {
    return this.#track(() => this.#change(id, change))
  }

  delete(id: string, seen?: LetterVersion): Promise<boolean> {
    const wanted = [seen?.state ?? '', seen === undefined ? '' : String(seen.lastFailedAt)]
    return this.#track(() => this.#records.run(deleteSeen, [id, ...wanted]))
  }

  deleteMany(seen: readonly SeenLetter[]): Promise<readonly string[]> {
    const wanted = seen.flatMap(({ id, state, lastFailedAt }) => [id, state, String(lastFailedAt)])
    return this.#track(async () => (seen.length === 0 ? [] : this.#records.run(deleteAllSeen, wanted)))
  }

  async *versions(filter: LetterFilter = {}): AsyncGenerator<readonly SeenLetter[]> {
    if (isExamined(filter)) return yield* examinedVersions(this, filter)
    const portions = versionsOf(this.#records, resolveLetterFilter(filter))
    for (;;) {
      const portion = await this.#track(() => portions.next())
      if (portion.done === true) return
      yield portion.value
    }
  }

  stats(filter: LetterFilter = {}): Promise<LetterStats> {
    if (isExamined(filter)) return examinedStats(this, filter)
    return this.#track(() => countLetters(this.#records, resolveLetterFilter(filter)))
  }

  countByHandler(filter: LetterFilter = {}): Promise<readonly HandlerCount[]> {
    if (isExamined(filter)) return examinedHandlers(this, filter)
    return this.#track(() => countByHandler(this.#records, resolveLetterFilter(filter)))
  }

  timeline(filter: LetterFilter, span: TimelineSpan): Promise<readonly number[]> {
    if (isExamined(filter)) return examinedTimeline(this, filter, span)
    return this.#track(() => countOverTime(this.#records, resolveTimeline(filter, span)))
  }

  /** Deletes letters like `expire`, and returns their number. */
  async cleanup(): Promise<number> {
    return sumOf(await this.expire())
  }

  /**
   * Deletes letters past their retention, by the time of the server, and records in the audit log what was deleted since
   * the last entry. Every other call deletes a few, and no call shows or counts due letters. This call frees the memory
   * when there are no others.
   */
  expire(): Promise<LetterCounts> {
    return this.#track(async () => {
      while (await this.#records.runIdempotent(removeDue, []));
      return await this.#records.run(recordExpired, [])
    })
  }

  /** The memory of the letters, and of the server. */
  memory(): Promise<RedisUsage> {
    return this.#track(() => this.#records.runIdempotent(measure, []))
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      await Promise.allSettled(this.#underWay)
      await this.#onClose?.()
    })()
    return this.#closing
  }

  async #send(letter: DeadLetter): Promise<void> {
    for (let known: Partial<KnownLetter> | undefined; ; ) {
      const merged = mergeLetter(known?.letter, letter)
      if (known?.letter !== undefined && encodeLetter(merged) === encodeLetter(known.letter)) return
      const saved = await this.#save(merged, known)
      if (saved.is === 'saved') return
      if (saved.is === 'full') throw new DeadLettersFullError(this.#name, this.#records.maxLetters)
      known = saved.is === 'known' ? this.#readKnown(saved) : undefined
    }
  }

  /** A record that cannot be read has nothing to merge with, and must not keep a letter from being saved. */
  #readKnown({ body, version }: { readonly body: string; readonly version: string }): Partial<KnownLetter> {
    const letter = readableLetter(() => this.#records.decode(body))
    return letter === undefined ? { version } : { letter, version }
  }

  async #save(letter: DeadLetter, known: Pick<Partial<KnownLetter>, 'version'> | undefined) {
    try {
      return await this.#records.save(letter, known, this.retention, { idempotent: true })
    } catch (error) {
      const isFull = error instanceof RedisError && error.reply === 'OOM'
      throw isFull ? new DeadLettersFullError(this.#name, undefined, error, OUT_OF_MEMORY) : error
    }
  }

  async #change(id: string, change: LetterChange): Promise<DeadLetter | undefined> {
    for (;;) {
      const known = await this.#records.read(id)
      const changed = known && changeLetter(known.letter, change)
      if (changed === undefined || changed === known?.letter) return changed
      if ((await this.#records.save(changed, known, 'keep')).is === 'saved') return changed
    }
  }

  /** Closing waits for calls in progress. */
  async #track<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw new DeadLettersClosedError(this.#name)
    const working = work()
    this.#underWay.add(working)
    try {
      return await working
    } finally {
      this.#underWay.delete(working)
    }
  }
}
