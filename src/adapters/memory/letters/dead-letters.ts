import { compareLetters, letterPosition } from '../../../adapter-kit/query/letter-order.ts'
import {
  letterCursor,
  letterMatcher,
  resolveLetterFilter,
  resolveLetterQuery,
} from '../../../adapter-kit/query/letter-query.ts'
import { countByHandler, letterStats } from '../../../adapter-kit/query/letter-stats.ts'
import { resolveTimeline, Timeline } from '../../../adapter-kit/query/letter-timeline.ts'
import { pageOf } from '../../../adapter-kit/query/page.ts'
import { changeLetter } from '../../../core/dead-letter/change.ts'
import { encodeLetter } from '../../../core/dead-letter/json.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { mergeLetter } from '../../../core/dead-letter/merge.ts'
import { WIDEST_EVENT_LIMITS } from '../../../core/event/limits.ts'
import { isCertainlyValid } from '../../../core/event/payload-size.ts'
import { isBytes } from '../../../core/event/plain.ts'
import { type Resolved, resolveOptions } from '../../../core/options/resolve.ts'
import { integer, text, withDefault } from '../../../core/options/rules.ts'
import { yieldToEventLoop } from '../../../ports/clock.ts'
import {
  type DeadLetterStore,
  DeadLettersClosedError,
  DeadLettersFullError,
  type HandlerCount,
  type LetterChange,
  type LetterFilter,
  type LetterPage,
  type LetterQuery,
  type LetterStats,
  type LetterVersion,
  type SeenLetter,
  type TimelineSpan,
} from '../../../ports/dead-letters.ts'

/** Refuses letters that other stores refuse, so that a test finds the problem and not the production system. */
function requireStorable(letter: DeadLetter): void {
  const { payload } = letter.event
  const { maxDepth, maxPayloadBytes } = WIDEST_EVENT_LIMITS
  if (!isBytes(payload) && !isCertainlyValid(payload, maxDepth, maxPayloadBytes)) encodeLetter(letter)
}

/** The letters that `versions` looks at in one turn of the event loop. */
const SEEN_PER_TURN = 5_000

/** The default of the option `capacity`. */
export const DEFAULT_LETTER_CAPACITY = 100_000

/** Options of a dead-letter store in memory. */
export interface MemoryDeadLettersOptions {
  /** Names the store in errors ['memory']. */
  readonly name?: string | undefined
  /** The most letters that the store accepts [100 000]. It refuses more. */
  readonly capacity?: number | undefined
}

const rules = {
  name: withDefault(text(), 'memory'),
  capacity: withDefault(integer({ min: 1 }), DEFAULT_LETTER_CAPACITY),
}

/**
 * Creates a store of dead letters that end with the process, for tests and examples. Everything else needs a durable
 * store.
 */
export function memoryDeadLetters(options?: MemoryDeadLettersOptions): MemoryDeadLetters {
  return new MemoryDeadLetters(resolveOptions('memoryDeadLetters', rules, options))
}

/** The letters of a store that is a broker too: it receives every letter that is deleted. */
export function memoryDeadLettersOf(onDeleted: (letter: DeadLetter) => void): MemoryDeadLetters {
  return new MemoryDeadLetters(resolveOptions('memoryDeadLetters', rules, {}), onDeleted)
}

/**
 * Every method does its whole work before its first await, so that `send` and `change` are atomic. A store on a server
 * needs a transaction for that.
 */
export class MemoryDeadLetters implements DeadLetterStore {
  readonly #name: string
  readonly #capacity: number
  readonly #letters = new Map<string, DeadLetter>()
  readonly #onDeleted: ((letter: DeadLetter) => void) | undefined
  #isClosed = false

  /** `onDeleted` is for a store that is a broker too. */
  constructor({ name, capacity }: Resolved<typeof rules>, onDeleted?: (letter: DeadLetter) => void) {
    this.#name = name
    this.#capacity = capacity
    this.#onDeleted = onDeleted
  }

  async send(letter: DeadLetter): Promise<void> {
    this.#requireOpen()
    const existing = this.#letters.get(letter.id)
    if (existing === undefined && this.#letters.size >= this.#capacity) {
      throw new DeadLettersFullError(this.#name, this.#capacity)
    }
    requireStorable(letter)
    this.#letters.set(letter.id, mergeLetter(existing, letter))
  }

  async list(query?: LetterQuery): Promise<LetterPage> {
    this.#requireOpen()
    const { filter, limit, order, startAfter } = resolveLetterQuery(query)
    const wanted = this.#matching(filter)
      .map(letter => ({ letter, place: letterPosition(letter, order) }))
      .filter(({ place }) => startAfter === undefined || compareLetters(place, startAfter, order) > 0)
      .sort((a, b) => compareLetters(a.place, b.place, order))
    const { shown, cursor } = pageOf(wanted, limit, last => letterCursor(last.place, filter, order))
    return { letters: shown.map(({ letter }) => letter), cursor }
  }

  async get(id: string): Promise<DeadLetter | undefined> {
    this.#requireOpen()
    return this.#letters.get(id)
  }

  async change(id: string, change: LetterChange): Promise<DeadLetter | undefined> {
    this.#requireOpen()
    const letter = this.#letters.get(id)
    const changed = letter && changeLetter(letter, change)
    if (changed !== undefined) this.#letters.set(id, changed)
    return changed
  }

  /** All letters, in no order. */
  all(): Iterable<DeadLetter> {
    return this.#letters.values()
  }

  async delete(id: string, seen?: LetterVersion): Promise<boolean> {
    this.#requireOpen()
    return this.#delete(id, seen)
  }

  async deleteMany(seen: readonly SeenLetter[]): Promise<readonly string[]> {
    this.#requireOpen()
    return seen.filter(each => this.#delete(each.id, each)).map(({ id }) => id)
  }

  async *versions(filter?: LetterFilter): AsyncGenerator<readonly SeenLetter[]> {
    this.#requireOpen()
    const matches = letterMatcher(resolveLetterFilter(filter))
    let looked = 0
    let found: SeenLetter[] = []
    // A letter that is deleted or added meanwhile does not disturb the iteration of a Map.
    for (const letter of this.#letters.values()) {
      const { id, state, cycle } = letter
      if (matches(letter)) found.push({ id, state, lastFailedAt: cycle.lastFailedAt })
      if (++looked % SEEN_PER_TURN !== 0) continue
      yield found
      found = []
      await yieldToEventLoop()
    }
    yield found
  }

  async stats(filter?: LetterFilter): Promise<LetterStats> {
    this.#requireOpen()
    return letterStats(this.#matching(resolveLetterFilter(filter)))
  }

  async countByHandler(filter?: LetterFilter): Promise<readonly HandlerCount[]> {
    this.#requireOpen()
    return countByHandler(this.#matching(resolveLetterFilter(filter)))
  }

  async timeline(filter: LetterFilter, span: TimelineSpan): Promise<readonly number[]> {
    this.#requireOpen()
    const wanted = resolveTimeline(filter, span)
    const timeline = new Timeline(wanted.span)
    for (const { cycle } of this.#matching(wanted.filter)) timeline.add(cycle.lastFailedAt)
    return timeline.counts
  }

  async close(): Promise<void> {
    this.#isClosed = true
  }

  #delete(id: string, seen: LetterVersion | undefined): boolean {
    const letter = this.#letters.get(id)
    if (letter === undefined) return false
    if (
      seen !== undefined &&
      (letter.state !== seen.state || letter.cycle.lastFailedAt !== seen.lastFailedAt)
    )
      return false
    this.#letters.delete(id)
    this.#onDeleted?.(letter)
    return true
  }

  #matching(filter: LetterFilter): DeadLetter[] {
    return [...this.#letters.values()].filter(letterMatcher(filter))
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new DeadLettersClosedError(this.#name)
  }
}
