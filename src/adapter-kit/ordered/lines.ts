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
  readonly #byId = new Map<string, Set<LineEvent<E>>>()
  /** The highest place so far. An event from elsewhere stands behind everything that came before it. */
  lastPlace = 0

  get size(): number {
    return this.#byHeldKey.size
  }

  add(event: LineEvent<E>): void {
    this.lastPlace = Math.max(this.lastPlace, event.place)
    this.#byHeldKey.set(event.heldKey, event)
    const sameId = this.#byId.get(event.id)
    if (sameId === undefined) this.#byId.set(event.id, new Set([event]))
    else sameId.add(event)
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

  /** The events of this id, at any position of any line. */
  ofId(id: string): Iterable<LineEvent<E>> {
    return this.#byId.get(id) ?? []
  }

  hasId(id: string): boolean {
    return this.#byId.has(id)
  }

  /** The dead-lettered events of this id. A program may use one id for events of several keys. */
  *dead(id: string): Iterable<LineEvent<E>> {
    for (const event of this.ofId(id)) if (event.state === 'dead') yield event
  }

  /** The dead-lettered event of this id in a line. */
  deadIn(line: string, id: string): LineEvent<E> | undefined {
    for (const event of this.dead(id)) if (event.line === line) return event
    return undefined
  }

  /** Another event of the same id in its line, such as a replay that came early. */
  twin(event: LineEvent<E>): LineEvent<E> | undefined {
    for (const each of this.ofId(event.id)) if (each !== event && each.line === event.line) return each
    return undefined
  }

  remove(event: LineEvent<E>): void {
    if (this.#byHeldKey.get(event.heldKey) !== event) return
    this.#byHeldKey.delete(event.heldKey)
    const sameId = this.#byId.get(event.id)!
    sameId.delete(event)
    if (sameId.size === 0) this.#byId.delete(event.id)
    const line = this.#lines.get(event.line)!
    if (line.length === 1) this.#lines.delete(event.line)
    else line.splice(line.indexOf(event), 1)
  }

  /** The lines with their events, first ones first. */
  all(): Iterable<readonly LineEvent<E>[]> {
    return this.#lines.values()
  }
}
