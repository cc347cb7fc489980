import type { AttemptLog } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import { type LineEvent, Lines } from '../../../../adapter-kit/ordered/lines.ts'
import { spillable } from '../../../../adapter-kit/ordered/spill.ts'
import { PendingWork } from '../../../../adapter-kit/pending-work.ts'
import { WakeTimer } from '../../../../adapter-kit/wake-timer.ts'
import type { AttemptRecord } from '../../../../core/dead-letter/letter.ts'
import { Heap } from '../../../../core/heap.ts'
import type { Settlement } from '../../../../ports/broker.ts'
import { delay, monotonicNow, settlesWithin } from '../../../../ports/clock.ts'
import { TooManyHeldError } from '../../errors.ts'
import type { SubscriptionContext } from '../consume/context.ts'
import { type Entry, keyToUnblock, lastingKey, NatsDelivery } from '../consume/entry.ts'
import { Intake } from '../consume/intake.ts'
import { Settler } from '../consume/settler.ts'
import { Completeness } from './completeness.ts'
import { HeldEvents } from './held-events.ts'
import { lineOf } from './line-of.ts'

type Event = LineEvent<Entry>

/** How many events may wait for others of their key in this process, beside those that are delivered. */
const WINDOW = 1_000
/** From this share of the window on, events behind held ones are stored as held too. */
const SPILL_AT = 0.8
/** The most events of a handler that may wait for others: their states are kept in memory. */
const MAX_HELD = 100_000
/** How many events are asked for while one is missing, however many are here. */
const SEARCH = 100
const RELOAD_MS = 500
const CLOSE_MS = 5_000

/**
 * Keeps the order of keys while it is ours to keep. Each key has a line, and only its first event is delivered. A first
 * event that cannot be handled now, and a dead-lettered one, are stored as held. The events behind stay where they are until
 * too many of them wait. A new owner reads what is held before anything else, so that it knows who stands in front.
 */
export class KeyOrder {
  readonly #context: SubscriptionContext
  /** The owner before has crashed: what it left behind may have been the reason. */
  readonly #isAfterCrash: boolean
  readonly #isOurs: () => boolean
  readonly #intake: Intake
  readonly #completeness: Completeness
  readonly #held: HeldEvents
  readonly #settler: Settler
  readonly #lines = new Lines<Entry>()
  /** The lines whose first event may be delivered. */
  readonly #ready = new Set<string>()
  readonly #open = new Set<NatsDelivery>()
  readonly #settling = new PendingWork()
  readonly #waiting = new Heap<Event>((a, b) => a.dueAt < b.dueAt)
  readonly #timer: WakeTimer
  #openSuspect: NatsDelivery | undefined
  #mode: 'running' | 'paused' | 'closing' | 'over' = 'paused'
  #isSpilling = false
  #isFull = false

  constructor(context: SubscriptionContext, isAfterCrash: boolean, isOurs: () => boolean) {
    this.#context = context
    this.#isAfterCrash = isAfterCrash
    this.#isOurs = isOurs
    this.#held = new HeldEvents(context)
    this.#settler = new Settler(context)
    this.#timer = new WakeTimer(context.settings.clock, () => this.#wake())
    this.#intake = new Intake(context, {
      room: () => this.#room(),
      arrived: entry => this.#arrived(entry),
      delivered: (source, message) => {
        if (source === 'events') this.#completeness.received(message)
      },
    })
    this.#completeness = new Completeness(
      context,
      () => this.#intake.count('events'),
      () => this.pump(),
    )
  }

  /** Reads what is held, for as long as that takes. */
  async open(): Promise<void> {
    const isRead = await this.#persist(async () => {
      for (const event of await this.#held.read()) if (!this.#lines.has(event.heldKey)) this.#lines.add(event)
    })
    if (!isRead) return
    for (const [first] of this.#lines.all()) this.#look(first!.line)
    await this.#intake.open()
    this.#completeness.start()
  }

  holds(delivery: NatsDelivery): boolean {
    return this.#open.has(delivery)
  }

  /** That a suspect or a held event begins is made durable first. Undefined if there is nothing to wait for. */
  begin(delivery: NatsDelivery, ended: readonly AttemptRecord[]): Promise<boolean> | undefined {
    delivery.recordEnds(ended)
    delivery.recordStart()
    const { entry, log } = delivery
    if (!entry.isHeld && !entry.isSuspect) return undefined
    return this.#hold(entry, log, 0, !entry.isHeld).then(isDurable => isDurable && this.#open.has(delivery))
  }

  settle(delivery: NatsDelivery, settlement: Settlement): Promise<boolean> | undefined {
    const { entry } = delivery
    const event = entry.line!
    this.#open.delete(delivery)
    if (settlement.outcome === 'done' && event.heldAt === undefined) {
      this.#intake.ack(entry)
      if (this.#openSuspect === delivery) this.#openSuspect = undefined
      this.#remove(event)
      return undefined
    }
    return this.#during(delivery, this.#settleDurably(delivery, event, settlement))
  }

  async #settleDurably(delivery: NatsDelivery, event: Event, settlement: Settlement): Promise<boolean> {
    const { entry } = delivery
    if (settlement.outcome === 'done') return this.#resolve(event, () => this.#intake.ack(entry))
    if (settlement.outcome === 'dead') {
      const { saved, letter } = settlement
      if (!saved && !(await this.#settler.keepLetter(delivery, letter, () => this.#mode !== 'over')))
        return false
      if (delivery.event?.key === undefined) return this.#resolve(event, () => this.#intake.terminate(entry))
      return this.#die(event, entry)
    }
    if (settlement.outcome === 'retry') delivery.recordEnds(settlement.ended)
    else delivery.takeBackStart()
    if (!(await this.#hold(entry, delivery.log, settlement.notBefore))) return false
    const { clock } = this.#context.settings
    event.entry = undefined
    event.dueAt = monotonicNow(clock) + Math.max(0, settlement.notBefore - clock.now())
    this.#lines.become(event, 'waiting')
    this.#look(event.line)
    return true
  }

  pause(): void {
    if (this.#mode !== 'running') return
    this.#mode = 'paused'
    this.#intake.pause()
  }

  resume(): void {
    if (this.#mode !== 'paused') return
    this.#mode = 'running'
    this.#intake.resume()
    this.pump()
  }

  /** Gives everything back, so that the next owner finds it as it is. */
  async close(): Promise<void> {
    const { clock } = this.#context.settings
    if (this.#mode === 'over') return
    this.#mode = 'closing'
    await settlesWithin(clock, CLOSE_MS, this.#intake.stop())
    await settlesWithin(clock, CLOSE_MS, this.#settling.settled())
    const changed = [...this.#open].filter(({ isChanged }) => isChanged)
    this.#open.clear()
    await settlesWithin(
      clock,
      CLOSE_MS,
      Promise.all(changed.map(({ entry, log }) => this.#hold(entry, log, 0))),
    )
    const left = [...this.#intake.all].sort((a, b) => a.message.sequence - b.message.sequence)
    for (const entry of left) this.#intake.giveBack(entry)
    const { current } = this.#context.link
    if (current !== undefined) await settlesWithin(clock, CLOSE_MS, current.flush())
    this.#end()
  }

  /** Another may keep the order by now: nothing of this is settled. */
  abandon(): void {
    void this.#intake.stop().catch(() => {})
    this.#end()
  }

  #end(): void {
    this.#mode = 'over'
    this.#open.clear()
    this.#timer.close()
    this.#completeness.close()
    this.#intake.close()
    this.#context.stalls.gaveUp('deliveries', this)
  }

  #room(): number {
    if (this.#isFull) return 0
    const room = this.#context.prefetch + WINDOW - this.#intake.size
    return this.#completeness.isComplete ? room : Math.max(room, SEARCH)
  }

  #arrived(entry: Entry): void {
    const { message, source, log } = entry
    const unblocked = keyToUnblock(entry)
    if (unblocked !== undefined) {
      void this.#unblock(entry, unblocked)
      return
    }
    entry.isSuspect &&= this.#isAfterCrash && !this.#completeness.isComplete
    const heldKey = lastingKey(entry)
    // It was stored as held, and the server did not hear that it is settled.
    if (this.#lines.has(heldKey)) {
      this.#intake.ack(entry)
      return
    }
    const { clock } = this.#context.settings
    const { id, line } = lineOf(entry, this.#context.names.channel, heldKey)
    const dead = this.#lines.dead(id)
    if (dead !== undefined && dead.line === line) this.#takePlace(dead, entry)
    else {
      const place = source === 'events' ? message.sequence : this.#lines.lastPlace
      const waitMs = log.notBefore - clock.now()
      const dueAt = monotonicNow(clock) + Math.max(0, waitMs)
      const state = waitMs > 0 ? 'waiting' : 'ready'
      entry.line = { line, id, heldKey, place, state, entry, heldAt: undefined, dueAt }
      this.#lines.add(entry.line)
    }
    this.#look(line)
    this.#checkSize()
    this.pump()
  }

  /** Published again, an event takes the place of its death. */
  #takePlace(dead: Event, entry: Entry): void {
    dead.entry = entry
    entry.line = dead
    this.#lines.become(dead, 'ready')
  }

  async #unblock(entry: Entry, id: string): Promise<void> {
    const event = this.#lines.dead(id)
    if (event !== undefined) {
      const isDurable = await this.#persist(() => this.#held.resolve(event))
      if (!isDurable) return
      if (event.state === 'dead') this.#remove(event)
    }
    this.#intake.ack(entry)
    this.pump()
  }

  async #resolve(event: Event, acknowledge: () => void): Promise<boolean> {
    if (!(await this.#persist(() => this.#held.resolve(event)))) return false
    acknowledge()
    this.#remove(event)
    return true
  }

  async #die(event: Event, entry: Entry): Promise<boolean> {
    if (!(await this.#persist(() => this.#held.markDead(event)))) return false
    this.#intake.terminate(entry)
    event.entry = undefined
    this.#lines.become(event, 'dead')
    // A replay can come before the death is on record: the letter is written first.
    const twin = this.#lines.twin(event)
    if (twin?.state === 'ready' && twin.entry !== undefined && twin.heldAt === undefined) {
      this.#lines.remove(twin)
      this.#takePlace(event, twin.entry)
      this.#look(event.line)
    }
    return true
  }

  /** Stores an event with its attempts. Its message is not needed after that. */
  async #hold(entry: Entry, log: AttemptLog, notBefore: number, isFirstSuspicion = false): Promise<boolean> {
    const held = [{ event: entry.line!, entry, log, notBefore, isFirstSuspicion }]
    if (!(await this.#persist(() => this.#held.hold(held)))) return false
    entry.isHeld = true
    this.#intake.ack(entry)
    return true
  }

  #remove(event: Event): void {
    this.#lines.remove(event)
    this.#look(event.line)
    this.#checkSize()
    this.pump()
  }

  /** The first of a line may have become deliverable. */
  #look(line: string): void {
    const first = this.#lines.first(line)
    if (first?.state === 'waiting') {
      if (first.dueAt > monotonicNow(this.#context.settings.clock)) {
        this.#waiting.push(first)
        this.#timer.wakeAt(first.dueAt)
      } else this.#lines.become(first, 'ready')
    }
    if (first?.state === 'ready') this.#ready.add(line)
    else this.#ready.delete(line)
  }

  #wake(): void {
    const now = monotonicNow(this.#context.settings.clock)
    for (let next = this.#waiting.first; next !== undefined; next = this.#waiting.first) {
      if (next.dueAt > now) {
        this.#timer.wakeAt(next.dueAt)
        break
      }
      this.#look(this.#waiting.shift()!.line)
    }
    this.pump()
  }

  /** Delivers the first events of the lines, as far as there is room and the order is ours. */
  pump(): void {
    if (this.#mode !== 'running') return
    if (this.#intake.size >= (this.#context.prefetch + WINDOW) * SPILL_AT) void this.#spill()
    for (const line of this.#ready) {
      if (this.#open.size >= this.#context.prefetch || this.#openSuspect !== undefined) break
      if (!this.#completeness.isComplete || !this.#isOurs()) break
      const first = this.#lines.first(line)!
      // A suspect runs alone: should the process die, it is known which event it was.
      if (first.entry?.isSuspect === true && !first.entry.isHeld && this.#open.size > 0) break
      this.#ready.delete(line)
      this.#lines.become(first, 'offered')
      if (first.entry === undefined) void this.#load(first)
      else this.#deliver(first.entry)
    }
    this.#intake.pull()
  }

  #deliver(entry: Entry): void {
    const delivery = new NatsDelivery(entry, this.#context.names.channel)
    this.#open.add(delivery)
    if (entry.isSuspect && !entry.isHeld) this.#openSuspect = delivery
    this.#context.deliver(delivery)
  }

  /** Brings the message of a held event, whose turn has come. */
  async #load(event: Event): Promise<void> {
    const { clock } = this.#context.settings
    while (this.#mode === 'running' || this.#mode === 'paused') {
      try {
        const entry = await this.#held.entry(event)
        // Somebody has deleted it.
        if (entry === undefined) this.#remove(event)
        else {
          event.entry = entry
          this.#lines.become(event, 'ready')
          this.#look(event.line)
          this.pump()
        }
        return
      } catch {
        await delay(clock, RELOAD_MS)
      }
    }
  }

  /** Makes room: events behind held ones are stored as held too, and the stream is read on. */
  async #spill(): Promise<void> {
    if (this.#isSpilling) return
    this.#isSpilling = true
    try {
      const moving = spillable(this.#lines).map(event => ({ event, entry: event.entry! }))
      if (moving.length === 0) return
      for (const { event } of moving) event.state = 'moving'
      const isDurable = await this.#persist(() =>
        this.#held.hold(moving.map(each => ({ ...each, log: each.entry.log.log, notBefore: 0 }))),
      )
      for (const { event, entry } of moving) {
        event.state = 'ready'
        if (!isDurable) continue
        event.entry = undefined
        this.#intake.ack(entry)
        this.#look(event.line)
      }
      this.pump()
    } finally {
      this.#isSpilling = false
    }
  }

  #checkSize(): void {
    const isFull = this.#lines.size >= MAX_HELD
    if (isFull === this.#isFull) return
    this.#isFull = isFull
    const { stalls, names } = this.#context
    if (isFull) stalls.stalled('deliveries', this, new TooManyHeldError(names.streams.events, MAX_HELD))
    else stalls.gaveUp('deliveries', this)
  }

  #persist(work: () => Promise<void>): Promise<boolean> {
    return this.#context.persist(() => this.#mode !== 'over', 'settlements', work)
  }

  /** The next suspect waits until the settlement of the last one is durable: it may crash this process. */
  async #during(delivery: NatsDelivery, work: Promise<boolean>): Promise<boolean> {
    this.#settling.begin()
    try {
      return await work
    } finally {
      this.#settling.end()
      if (this.#openSuspect === delivery) this.#openSuspect = undefined
      this.pump()
    }
  }
}
