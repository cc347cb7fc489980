import { Heap } from '../../core/heap.ts'
import { type Cancel, type Clock, monotonicNow } from '../../ports/clock.ts'
import type { StallReporter } from '../delivery/stalls.ts'
import { WakeTimer } from '../wake-timer.ts'
import { behindHeld } from './behind-held.ts'
import { type LineEvent, Lines } from './lines.ts'
import { TooManyHeldError } from './too-many-held.ts'
import { UnblockRequests } from './unblock-requests.ts'

/** A message of a broker that stands in a line. */
interface LineEntry<E> {
  readonly isHeld: boolean
  line: LineEvent<E> | undefined
}

/** What a broker does with its lines. `R` is a request to unblock a key. */
interface LinesListener<E, R> {
  /** The first event of a line may be delivered. */
  ready(event: LineEvent<E>): void
  /** The time of waiting events has come, and `ready` was called for them. */
  woke(): void
  /** Whether every event that an earlier owner had begun stands in its line. */
  isComplete(): boolean
  /** Makes durable that a dead-lettered event is resolved. False if the order is not ours any more. */
  resolve(event: LineEvent<E>): Promise<boolean>
  /** The request is answered, and can be settled. */
  answered(request: R): void
  /** So many events wait for others that no new ones may come; or that is over. */
  full(isFull: boolean): void
  /** Stores events as held. False if the order is not ours any more. */
  store(events: readonly LineEvent<E>[]): Promise<boolean>
  /** The event of an entry is stored as held, so that the entry is not needed any more. */
  stored(entry: E): void
  /** Events were stored as held, so that there is room for others. */
  madeRoom(): void
}

interface LinesContext {
  readonly clock: Clock
  readonly stalls: StallReporter
  /** The stream or partition of the lines, for errors. */
  readonly source: string
}

/** Where an event stands. */
interface LinePosition extends Pick<LineEvent<unknown>, 'line' | 'id' | 'heldKey'> {
  /** Undefined for an event from elsewhere, which stands behind everything that came before it. */
  readonly place: number | undefined
  /** How long it has to wait [0]. */
  readonly waitMs?: number
  /** Where a state of it is stored already, which its end must replace [nowhere]. */
  readonly heldAt?: number | undefined
}

/** The most events that may wait for others: their states are kept in memory. */
const MAX_HELD = 100_000
/** After this time the events behind a held one are stored too: the retention of the channel would remove them. */
export const STORE_AFTER_MS = 10_000

/**
 * Keeps the order of keys for one owner. Each key has a line, and only its first event is delivered. A first event that
 * cannot be handled now, and a dead-lettered one, are stored as held by the broker. The events behind stay where they are
 * until too many of them wait, or until they have waited for a while: then they are stored as held too.
 */
export class KeyLines<E extends LineEntry<E>, R> {
  readonly #context: LinesContext
  readonly #listener: LinesListener<E, R>
  readonly #lines = new Lines<E>()
  readonly #requests: UnblockRequests<R>
  readonly #waiting = new Heap<{ readonly event: LineEvent<E>; readonly dueAt: number }>(
    (a, b) => a.dueAt < b.dueAt,
  )
  /** For when the waiting ones are in the heap: many events come behind one that waits. */
  readonly #wakesAt = new Map<LineEvent<E>, number>()
  readonly #timer: WakeTimer
  #isStoring = false
  /** An event was held, or came behind a held one, since events were stored the last time. */
  #hasNewWaiting = true
  #cancelStoring: Cancel | undefined
  #isFull = false
  #isClosed = false

  constructor(context: LinesContext, listener: LinesListener<E, R>) {
    this.#context = context
    this.#listener = listener
    this.#timer = new WakeTimer(context.clock, () => this.#wake())
    this.#requests = new UnblockRequests(context.clock, {
      isAboutToDie: id => !listener.isComplete() || this.#hasOffered(id),
      dropped: listener.answered,
    })
  }

  get isFull(): boolean {
    return this.#isFull
  }

  /** The highest place so far. */
  get lastPlace(): number {
    return this.#lines.lastPlace
  }

  /** The event that is here, or stored as held. */
  get(heldKey: string): LineEvent<E> | undefined {
    return this.#lines.get(heldKey)
  }

  first(line: string): LineEvent<E> | undefined {
    return this.#lines.first(line)
  }

  /** The dead-lettered events, which block their lines. */
  *dead(): Iterable<LineEvent<E>> {
    for (const line of this.#lines.all()) for (const event of line) if (event.state === 'dead') yield event
  }

  /** Begins with what is held. */
  open(held: Iterable<LineEvent<E>>): void {
    for (const event of held) this.#lines.add(event)
    for (const [first] of this.#lines.all()) this.look(first!.line)
    this.#checkSize()
  }

  /** Nothing is offered any more: others may read the same events again. */
  close(): void {
    this.#isClosed = true
    this.#timer.close()
    this.#requests.close()
    this.#cancelStoring?.()
    this.#context.stalls.ended('deliveries', this)
  }

  /** Every event that an earlier owner had begun stands in its line now. */
  completed(): void {
    for (const id of this.#requests.ids) this.#answer(id)
  }

  /** An entry takes its place. Published again, an event takes the place of its death. */
  add(
    entry: E,
    { line, id, heldKey, place = this.#lines.lastPlace, waitMs = 0, heldAt }: LinePosition,
  ): void {
    const dead = this.#lines.deadIn(line, id)
    if (dead !== undefined) this.#takePlace(dead, entry)
    else {
      const state = waitMs > 0 ? 'waiting' : 'ready'
      const dueAt = this.#now() + Math.max(0, waitMs)
      entry.line = { line, id, heldKey, place, state, entry, heldAt, dueAt }
      this.#lines.add(entry.line)
      if (this.#lines.first(line)?.heldAt !== undefined) this.#storeLater()
    }
    this.look(line)
    this.#checkSize()
  }

  /** The event is stored as held, and waits. */
  wait(event: LineEvent<E>, waitMs: number): void {
    event.entry = undefined
    event.dueAt = this.#now() + Math.max(0, waitMs)
    event.state = 'waiting'
    this.#storeLater()
    this.look(event.line)
  }

  /** The death of the event is stored. It blocks its line. */
  die(event: LineEvent<E>): void {
    event.entry = undefined
    event.state = 'dead'
    this.#storeLater()
    // A replay can come before the death is on record: the letter is written first.
    const twin = this.#lines.twin(event)
    if (twin?.state === 'ready' && twin.entry !== undefined && twin.heldAt === undefined) {
      this.#lines.remove(twin)
      this.#takePlace(event, twin.entry)
      this.look(event.line)
    }
    this.#answer(event.id)
  }

  /** The event is resolved. */
  remove(event: LineEvent<E>): void {
    this.#lines.remove(event)
    this.#answer(event.id)
    this.look(event.line)
    this.#checkSize()
  }

  /** The dead-lettered events of this id are resolved, now or when they are dead. */
  async unblock(id: string, request: R): Promise<void> {
    const dead = [...this.#lines.dead(id)]
    for (const event of dead) {
      if (!(await this.#listener.resolve(event)) || this.#isClosed) return
      if (event.state === 'dead') this.remove(event)
    }
    if (dead.length === 0 && (!this.#listener.isComplete() || this.#lines.hasId(id))) {
      // What an earlier owner began may not have come again, or stand behind an event whose settlement was lost.
      this.#requests.add(id, request)
      return
    }
    this.#listener.answered(request)
  }

  /** The first of a line is delivered when it may be. */
  look(line: string): void {
    if (this.#isClosed) return
    const first = this.#lines.first(line)
    if (first?.state === 'waiting') {
      if (first.dueAt > this.#now()) {
        this.#wakeLater(first)
        return
      }
      first.state = 'ready'
    }
    if (first?.state === 'ready') this.#listener.ready(first)
  }

  /** Makes room: events behind held ones are stored as held too. */
  async storeWaiting(): Promise<void> {
    if (this.#isClosed || this.#isStoring || !this.#hasNewWaiting) return
    this.#hasNewWaiting = false
    const moving = behindHeld(this.#lines)
    if (moving.length === 0) return
    this.#isStoring = true
    for (const event of moving) event.state = 'moving'
    const isStored = await this.#listener.store(moving)
    this.#isStoring = false
    if (this.#isClosed) return
    for (const event of moving) {
      const entry = event.entry!
      event.state = 'ready'
      if (!isStored) continue
      event.entry = undefined
      this.#listener.stored(entry)
    }
    for (const { line } of moving) this.look(line)
    if (isStored) this.#listener.madeRoom()
  }

  #storeLater(): void {
    this.#hasNewWaiting = true
    if (this.#isClosed) return
    this.#cancelStoring ??= this.#context.clock.schedule(STORE_AFTER_MS, () => {
      this.#cancelStoring = undefined
      if (this.#isStoring) this.#storeLater()
      else void this.storeWaiting()
    })
  }

  #hasOffered(id: string): boolean {
    for (const { state } of this.#lines.ofId(id)) if (state === 'offered') return true
    return false
  }

  #now(): number {
    return monotonicNow(this.#context.clock)
  }

  #takePlace(dead: LineEvent<E>, entry: E): void {
    dead.entry = entry
    entry.line = dead
    dead.state = 'ready'
  }

  /** Requests that came early are looked at again. */
  #answer(id: string): void {
    for (const request of this.#requests.take(id)) void this.unblock(id, request)
  }

  #wakeLater(event: LineEvent<E>): void {
    const { dueAt } = event
    if (this.#wakesAt.get(event) === dueAt) return
    this.#wakesAt.set(event, dueAt)
    this.#waiting.push({ event, dueAt })
    this.#timer.wakeAt(dueAt)
  }

  #wake(): void {
    const now = this.#now()
    for (let next = this.#waiting.first; next !== undefined; next = this.#waiting.first) {
      if (next.dueAt > now) {
        this.#timer.wakeAt(next.dueAt)
        break
      }
      this.#waiting.shift()
      if (this.#wakesAt.get(next.event) === next.dueAt) this.#wakesAt.delete(next.event)
      this.look(next.event.line)
    }
    this.#listener.woke()
  }

  #checkSize(): void {
    if (this.#isClosed) return
    const isFull = this.#lines.size >= MAX_HELD
    if (isFull === this.#isFull) return
    this.#isFull = isFull
    const { stalls, source } = this.#context
    if (isFull) stalls.stalled('deliveries', this, new TooManyHeldError(source, MAX_HELD))
    else stalls.ended('deliveries', this)
    this.#listener.full(isFull)
  }
}
