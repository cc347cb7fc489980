import { sumOf } from '../../../adapter-kit/expiry.ts'
import { resolveLetterFilter, resolveLetterQuery } from '../../../adapter-kit/query/letter-query.ts'
import { resolveTimeline } from '../../../adapter-kit/query/letter-timeline.ts'
import { changeLetter } from '../../../core/dead-letter/change.ts'
import { encodeLetter } from '../../../core/dead-letter/json.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { mergeLetter } from '../../../core/dead-letter/merge.ts'
import type { Retention } from '../../../core/dead-letter/retention.ts'
import {
  type DeadLetterStore,
  DeadLettersClosedError,
  DeadLettersFullError,
  type LetterChange,
  type LetterCounts,
  type LetterFilter,
  type LetterPage,
  type LetterQuery,
  type LetterSeen,
  type LetterStats,
  type TimelineSpan,
} from '../../../ports/dead-letters.ts'
import { RedisError } from '../errors.ts'
import type { Desk, Known } from './letter-records.ts'
import { measureLetters, type RedisUsage } from './memory.ts'
import { countLetters, listLetters, timeLetters } from './queries.ts'
import { deleteSeen, sweepDue, tellExpired } from './scripts.ts'

const NO_MEMORY =
  'no memory is left on the server; raise its maxmemory, or discard, replay or expire what is kept there'

interface DeadLettersSettings {
  readonly name: string
  readonly desk: Desk
  readonly retention: Retention
  /** Closes what only these letters use. */
  readonly leave: () => Promise<void>
}

/**
 * Dead letters on a server. What is decided about a letter is decided here, from what was read, and written only if the
 * letter is still what was read; everything that points to it is written in the same script.
 */
export class RedisDeadLetters implements DeadLetterStore {
  readonly #name: string
  readonly #desk: Desk
  readonly #retention: Retention
  readonly #leave: () => Promise<void>
  readonly #underWay = new Set<Promise<unknown>>()
  #closing: Promise<void> | undefined

  constructor({ name, desk, retention, leave }: DeadLettersSettings) {
    this.#name = name
    this.#desk = desk
    this.#retention = retention
    this.#leave = leave
  }

  send(letter: DeadLetter): Promise<void> {
    return this.#do(() => this.#send(letter))
  }

  list(query?: LetterQuery): Promise<LetterPage> {
    return this.#do(() => listLetters(this.#desk, resolveLetterQuery(query)))
  }

  get(id: string): Promise<DeadLetter | undefined> {
    return this.#do(async () => (await this.#desk.read(id))?.letter)
  }

  change(id: string, change: LetterChange): Promise<DeadLetter | undefined> {
    return this.#do(() => this.#change(id, change))
  }

  delete(id: string, seen?: LetterSeen): Promise<boolean> {
    const wanted = [seen?.state ?? '', seen === undefined ? '' : String(seen.lastFailedAt)]
    return this.#do(() => this.#desk.run(deleteSeen, [id, ...wanted]))
  }

  stats(filter?: LetterFilter): Promise<LetterStats> {
    return this.#do(() => countLetters(this.#desk, resolveLetterFilter(filter)))
  }

  timeline(filter: LetterFilter, span: TimelineSpan): Promise<readonly number[]> {
    return this.#do(() => timeLetters(this.#desk, resolveTimeline(filter, span)))
  }

  /** As `expire`, and answers how many went in all. */
  async cleanup(): Promise<number> {
    return sumOf(await this.expire())
  }

  /**
   * Takes out what is past its retention by the server's time, and tells the audit what went since it was last told. Every
   * other call takes out a little, and none shows or counts what is due; this gives its memory back when nobody calls.
   */
  expire(): Promise<LetterCounts> {
    return this.#do(async () => {
      while (await this.#desk.ask(sweepDue, []));
      return await this.#desk.run(tellExpired, [])
    })
  }

  /** What the letters take, and what the server has. */
  memory(): Promise<RedisUsage> {
    return this.#do(() => measureLetters(this.#desk))
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      await Promise.allSettled(this.#underWay)
      await this.#leave()
    })()
    return this.#closing
  }

  async #send(letter: DeadLetter): Promise<void> {
    for (let known: Known | undefined; ; ) {
      const merged = mergeLetter(known?.letter, letter)
      if (known !== undefined && encodeLetter(merged) === encodeLetter(known.letter)) return
      const saved = await this.#save(merged, known)
      if (saved.is === 'saved') return
      if (saved.is === 'full') throw new DeadLettersFullError(this.#name, this.#desk.maxLetters)
      known =
        saved.is === 'known' ? { letter: this.#desk.decode(saved.body), version: saved.version } : undefined
    }
  }

  async #save(letter: DeadLetter, known: Known | undefined) {
    try {
      return await this.#desk.save(letter, known, this.#retention, { again: true })
    } catch (error) {
      const isFull = error instanceof RedisError && error.reply === 'OOM'
      throw isFull ? new DeadLettersFullError(this.#name, undefined, error, NO_MEMORY) : error
    }
  }

  async #change(id: string, change: LetterChange): Promise<DeadLetter | undefined> {
    for (;;) {
      const known = await this.#desk.read(id)
      const changed = known && changeLetter(known.letter, change)
      if (changed === undefined || changed === known?.letter) return changed
      if ((await this.#desk.save(changed, known, 'keep')).is === 'saved') return changed
    }
  }

  /** Closing waits for what is under way. */
  async #do<T>(work: () => Promise<T>): Promise<T> {
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
