import type { ResolvedSnapshotQuery } from '../../../ports/snapshot-query.ts'
import type { Keeper } from '../journal/compaction.ts'
import type { JournalRecord } from '../journal/line.ts'
import { LiveLines } from '../journal/live-lines.ts'
import { type JournalUser, type Place, UnreadableError } from '../journal/segment-set.ts'
import { Moments } from './moments.ts'

export interface Moment {
  readonly channel: string
  readonly at: number
}

/** Which snapshots there are, and where. A `put` line is one, a `delete` line says before which time all go. */
export class SnapshotTable implements JournalUser, Keeper {
  readonly #onClosed: () => void
  readonly #channels = new Map<string, Moments>()
  #live = new LiveLines()

  constructor(onClosed: () => void) {
    this.#onClosed = onClosed
  }

  /** Which a query asks for. */
  select({ channel, after, before, perChannel }: ResolvedSnapshotQuery): Moment[] {
    const channels = channel === undefined ? [...this.#channels.keys()] : [channel]
    return channels.flatMap(each => {
      const found: Moment[] = []
      const moments = this.#channels.get(each)
      if (moments === undefined) return found
      for (let row = moments.find(before) - 1; row >= 0 && found.length < perChannel; row--) {
        const at = moments.atOf(row)
        if (at < after) break
        found.push({ channel: each, at })
      }
      return found
    })
  }

  /** Nowhere when it was purged meanwhile. */
  placesOf(moments: readonly Moment[]): Place[] {
    return moments.flatMap(({ channel, at }) => {
      const known = this.#channels.get(channel)
      const row = known?.find(at) ?? 0
      return known?.has(row, at) ? [known.placeOf(row)] : []
    })
  }

  /** In the order they were written in, so that few reads get many of them. */
  asWritten(moments: readonly Moment[]): Moment[] {
    const placed = moments.map(moment => ({ moment, place: this.placesOf([moment])[0]! }))
    placed.sort((a, b) => a.place.segment - b.place.segment || a.place.offset - b.place.offset)
    return placed.map(({ moment }) => moment)
  }

  hasBefore(before: number): boolean {
    return [...this.#channels.values()].some(moments => moments.atOf(0) < before)
  }

  apply({ kind, text }: JournalRecord, place: Place): void {
    if (kind === 'put') this.put(parse(text, isMoment), place)
    if (kind === 'delete') this.purge(parse(text, isPurge).before)
  }

  put({ channel, at }: Moment, place: Place): void {
    const moments = this.#channels.get(channel) ?? new Moments()
    this.#channels.set(channel, moments)
    const row = moments.find(at)
    if (moments.has(row, at)) {
      this.#forget(moments.placeOf(row))
      moments.set(row, at, place)
    } else moments.insert(row, at, place)
    this.#live.add(place.segment, place.length)
  }

  purge(before: number): number {
    let purged = 0
    for (const [channel, moments] of this.#channels) {
      const due = moments.find(before)
      for (let row = 0; row < due; row++) this.#forget(moments.placeOf(row))
      if (due > 0) moments.drop(due)
      if (moments.count === 0) this.#channels.delete(channel)
      purged += due
    }
    return purged
  }

  reset(): void {
    this.#channels.clear()
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
    const offsets = new Set<number>()
    for (const [moments, row] of this.#in(segment)) offsets.add(moments.placeOf(row).offset)
    return offsets
  }

  move(segment: number, moves: ReadonlyMap<number, number>): void {
    for (const [moments, row] of this.#in(segment)) {
      const place = moments.placeOf(row)
      moments.set(row, moments.atOf(row), { ...place, offset: moves.get(place.offset) ?? place.offset })
    }
    this.#live.cleaned(segment, moves.size)
  }

  *#in(segment: number): Generator<readonly [Moments, row: number]> {
    for (const moments of this.#channels.values())
      for (let row = 0; row < moments.count; row++)
        if (moments.segmentOf(row) === segment) yield [moments, row]
  }

  #forget({ segment, length }: Place): void {
    this.#live.remove(segment, length)
  }
}

function parse<T>(text: string, isRight: (value: unknown) => value is T): T {
  try {
    const value: unknown = JSON.parse(text)
    if (isRight(value)) return value
  } catch (error) {
    throw new UnreadableError('no JSON', { cause: error })
  }
  throw new UnreadableError('neither a snapshot nor a purge')
}

function isMoment(value: unknown): value is Moment {
  const { channel, at } = (value ?? {}) as Partial<Moment>
  return typeof channel === 'string' && typeof at === 'number'
}

function isPurge(value: unknown): value is { readonly before: number } {
  return typeof (value as { readonly before?: unknown } | null)?.before === 'number'
}
