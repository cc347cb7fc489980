/**
 * An event in the line of its key, or what stands for it.
 * - `ready`: to be handed over when it is first.
 * - `offered`: handed over, or about to be.
 * - `waiting`: for its next attempt.
 * - `dead`: given up on; it blocks its line until the key is unblocked or the event is published again.
 * - `moving`: on its way to where held events are stored.
 */
export interface LineEvent<E> {
  readonly line: string
  readonly id: string
  /** The name under which it is stored when it is held. */
  readonly heldKey: string
  /** The position in the line. Lower positions come first. */
  readonly place: number
  state: 'ready' | 'offered' | 'waiting' | 'dead' | 'moving'
  /** The record to deliver; undefined while it is only stored as held. */
  entry: E | undefined
  /** Where its latest state is stored; undefined if it is not held. */
  heldAt: number | undefined
  /** The end of its wait, by a monotonic clock. */
  dueAt: number
}

/** The events of each line in their order. Only the first of a line may be delivered. */
export class Lines<E> {
  readonly #lines = new Map<string, LineEvent<E>[]>()
  readonly #byHeldKey = new Map<string, LineEvent<E>>()
  readonly #byId = new Map<string, readonly LineEvent<E>[]>()
  /** The highest place so far. An event from elsewhere stands behind everything that came before it. */
  lastPlace = 0

  get size(): number {
    return this.#byHeldKey.size
  }

  add(event: LineEvent<E>): void {
    this.lastPlace = Math.max(this.lastPlace, event.place)
    this.#byHeldKey.set(event.heldKey, event)
    this.#byId.set(event.id, [...this.ofId(event.id), event])
    const line = this.#lines.get(event.line)
    if (line === undefined) {
      this.#lines.set(event.line, [event])
      return
    }
    // Most events come in their order. One with the place of another stands behind it.
    let at = line.length
    while (at > 0 && line[at - 1]!.place > event.place) at--
    line.splice(at, 0, event)
  }

  get(heldKey: string): LineEvent<E> | undefined {
    return this.#byHeldKey.get(heldKey)
  }

  first(line: string): LineEvent<E> | undefined {
    return this.#lines.get(line)?.[0]
  }

  /** The events of this id, at any place of any line. */
  ofId(id: string): readonly LineEvent<E>[] {
    return this.#byId.get(id) ?? []
  }

  /** The dead-lettered event of this id. */
  dead(id: string): LineEvent<E> | undefined {
    return this.ofId(id).find(({ state }) => state === 'dead')
  }

  /** Another event of the same id in its line, such as a replay that came early. */
  twin(event: LineEvent<E>): LineEvent<E> | undefined {
    return this.ofId(event.id).find(each => each !== event && each.line === event.line)
  }

  remove(event: LineEvent<E>): void {
    if (this.#byHeldKey.get(event.heldKey) !== event) return
    this.#byHeldKey.delete(event.heldKey)
    const others = this.ofId(event.id).filter(each => each !== event)
    if (others.length > 0) this.#byId.set(event.id, others)
    else this.#byId.delete(event.id)
    const line = this.#lines.get(event.line)!
    if (line.length === 1) this.#lines.delete(event.line)
    else line.splice(line.indexOf(event), 1)
  }

  /** The lines with their events, first ones first. */
  all(): Iterable<readonly LineEvent<E>[]> {
    return this.#lines.values()
  }
}
