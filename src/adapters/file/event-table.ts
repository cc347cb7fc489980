import type { Keeper } from './journal/compaction.ts'
import type { JournalRecord } from './journal/line.ts'
import { LiveLines } from './journal/live-lines.ts'
import { type JournalUser, type Place, UnreadableError } from './journal/segment-set.ts'

/** Which events are held, and where. A `put` line begins with the event's id, so that nothing else need be read of it. */
export class EventTable implements JournalUser, Keeper {
  readonly #onClosed: () => void
  readonly #places = new Map<string, Place>()
  #live = new LiveLines()

  constructor(onClosed: () => void) {
    this.#onClosed = onClosed
  }

  has(id: string): boolean {
    return this.#places.has(id)
  }

  get size(): number {
    return this.#places.size
  }

  /** In the order of arrival. */
  get all(): readonly Place[] {
    return [...this.#places.values()].sort((a, b) => a.segment - b.segment || a.offset - b.offset)
  }

  apply({ kind, text }: JournalRecord, place: Place): void {
    if (kind === 'put') this.put(parse<{ id: string }>(text).id, place)
    if (kind === 'delete') for (const id of parse<string[]>(text)) this.remove(id)
  }

  put(id: string, place: Place): void {
    this.remove(id)
    this.#places.set(id, place)
    this.#live.add(place.segment, place.length)
  }

  remove(id: string): void {
    const place = this.#places.get(id)
    if (place === undefined) return
    this.#live.remove(place.segment, place.length)
    this.#places.delete(id)
  }

  reset(): void {
    this.#places.clear()
    this.#live = new LiveLines()
  }

  closed(): void {
    this.#onClosed()
  }

  liveBytes(segment: number): number {
    return this.#live.bytes(segment)
  }

  hasDead(segment: number): boolean {
    return this.#live.hasDead(segment)
  }

  liveOffsets(segment: number): ReadonlySet<number> {
    const here = [...this.#places.values()].filter(place => place.segment === segment)
    return new Set(here.map(({ offset }) => offset))
  }

  move(segment: number, moves: ReadonlyMap<number, number>): void {
    for (const [id, place] of this.#places) {
      const offset = place.segment === segment ? moves.get(place.offset) : undefined
      if (offset !== undefined) this.#places.set(id, { ...place, offset })
    }
    this.#live.cleaned(segment, moves.size)
  }
}

function parse<T>(text: string): T {
  try {
    return JSON.parse(text) as T
  } catch (error) {
    throw new UnreadableError('no JSON', { cause: error })
  }
}
