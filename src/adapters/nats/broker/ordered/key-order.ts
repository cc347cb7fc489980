import type { AttemptLog } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import { KeyLines } from '../../../../adapter-kit/ordered/key-lines.ts'
import type { LineEvent } from '../../../../adapter-kit/ordered/lines.ts'
import { PendingWork } from '../../../../adapter-kit/pending-work.ts'
import type { AttemptRecord } from '../../../../core/dead-letter/letter.ts'
import type { Settlement } from '../../../../ports/broker.ts'
import { settlesWithin } from '../../../../ports/clock.ts'
import type { SubscriptionContext } from '../consume/context.ts'
import { Draining } from '../consume/draining.ts'
import { type Entry, keyToUnblock, NatsDelivery, permanentKey, type Source } from '../consume/entry.ts'
import { Intake } from '../consume/intake.ts'
import { Settler } from '../consume/settler.ts'
import { Completeness } from './completeness.ts'
import { HeldEvents } from './held-events.ts'
import { lineOf } from './line-of.ts'
import { placeOffset } from './place-offset.ts'

type Event = LineEvent<Entry>

/** How many events may wait for others of their key in this process, beside those that are delivered. */
const WINDOW = 1_000
/** From this share of the window on, events behind held ones are stored as held at once. */
const STORE_AT = 0.8
/** So many replays and requests may come although too many events wait: they resolve what the others wait for. */
const MIN_RETRIES = 100
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
  readonly #lines: KeyLines<Entry, Entry>
  /** The lines whose first event may be delivered. */
  readonly #ready = new Set<string>()
  /** Held events whose messages are on their way, or are here and wait for their delivery. */
  readonly #loading = new Set<Event>()
  readonly #open = new Set<NatsDelivery>()
  readonly #settling = new PendingWork()
  readonly #draining: Draining
  #openSuspect: NatsDelivery | undefined
  /** Added to the sequences of events, so that those of a stream that counts from 1 again stand behind all that are here. */
  #placeOffset = 0
  #mode: 'running' | 'paused' | 'closing' | 'over' = 'paused'
  /** The lines know what is held. Messages that come before could pass it. */
  #isOpen = false
  #opening: Promise<void> | undefined

  constructor(context: SubscriptionContext, isAfterCrash: boolean, isOurs: () => boolean) {
    this.#context = context
    this.#isAfterCrash = isAfterCrash
    this.#isOurs = () => this.#mode !== 'over' && isOurs()
    const { settings, stalls, names } = context
    this.#held = new HeldEvents(context, this.#isOurs)
    this.#settler = new Settler(context)
    this.#draining = new Draining(settings.clock, () => this.pump())
    this.#intake = new Intake(context, {
      room: source => this.#room(source),
      arrived: entry => this.#arrived(entry),
      delivered: (source, message) => {
        if (source === 'events') this.#completeness.received(message)
      },
      beganAgain: () => {
        this.#placeOffset = this.#lines.lastPlace
        this.#completeness.doubt()
      },
    })
    this.#completeness = new Completeness(context, {
      entries: () => this.#intake.all,
      isRemaking: () => this.#intake.isRemaking,
      changed: () => {
        if (this.#completeness.isComplete) this.#lines.completed()
        this.pump()
      },
    })
    this.#lines = new KeyLines(
      { clock: settings.clock, stalls, source: `stream '${names.streams.events}'` },
      {
        ready: ({ line }) => this.#ready.add(line),
        woke: () => this.pump(),
        isComplete: () => this.#completeness.isComplete,
        resolve: event => this.#persist(() => this.#held.resolve(event)),
        answered: request => {
          this.#intake.ack(request)
          this.pump()
        },
        full: () => this.pump(),
        store: events => {
          const held = events.map(event => {
            const entry = event.entry!
            return { event, entry, log: entry.log.log, notBefore: 0 }
          })
          return this.#persist(() => this.#held.hold(held))
        },
        stored: entry => this.#stored(entry),
        madeRoom: () => this.pump(),
      },
    )
  }

  /** Reads what is held, for as long as that takes. */
  open(): Promise<void> {
    this.#opening = this.#readHeld()
    return this.#opening
  }

  async #readHeld(): Promise<void> {
    const { persist } = this.#context
    const isWanted = () => this.#mode === 'running' || this.#mode === 'paused'
    let held: readonly Event[] = []
    const isRead = await persist(isWanted, 'deliveries', async () => {
      held = await this.#held.read()
      this.#placeOffset = placeOffset(held, await this.#intake.open())
    })
    if (!isRead) {
      this.#intake.close()
      return
    }
    this.#lines.open(held)
    this.#isOpen = true
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
      this.#lines.remove(event)
      this.pump()
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
    this.#lines.wait(event, settlement.notBefore - this.#context.settings.clock.now())
    if (this.#held.inPlace.attemptsOf(event) !== undefined) event.entry = entry
    return true
  }

  pause(): void {
    if (this.#mode !== 'running') return
    this.#mode = 'paused'
    this.#intake.pause()
  }

  resume(): void {
    if (this.#mode !== 'paused' || !this.#isOpen) return
    this.#mode = 'running'
    this.#intake.resume()
    this.pump()
  }

  /** Gives everything back, so that the next owner finds it as it is. */
  async close(): Promise<void> {
    const { clock } = this.#context.settings
    if (this.#mode === 'over') return
    this.#mode = 'closing'
    if (this.#opening !== undefined) await settlesWithin(clock, CLOSE_MS, this.#opening)
    await settlesWithin(clock, CLOSE_MS, this.#intake.stop())
    await settlesWithin(clock, CLOSE_MS, this.#settling.settled())
    await settlesWithin(clock, CLOSE_MS, this.#held.written())
    const changed = [...this.#open].filter(({ isChanged }) => isChanged)
    this.#open.clear()
    await settlesWithin(
      clock,
      CLOSE_MS,
      Promise.all(changed.map(({ entry, log }) => this.#hold(entry, log, 0))),
    )
    this.#giveBack()
    const { current } = this.#context.link
    if (current !== undefined) await settlesWithin(clock, CLOSE_MS, current.flush())
    this.#end()
  }

  /** Another consumer may keep the order by now. It gets what is given back at once, and not only after `ackWaitMs`. */
  abandon(): void {
    void this.#intake.stop().catch(() => {})
    this.#giveBack()
    this.#end()
  }

  #giveBack(): void {
    const left = [...this.#intake.all].sort((a, b) => a.message.sequence - b.message.sequence)
    for (const entry of left) this.#intake.giveBack(entry)
  }

  #end(): void {
    this.#mode = 'over'
    this.#open.clear()
    this.#draining.close()
    this.#lines.close()
    this.#completeness.close()
    this.#intake.close()
  }

  #room(source: Source): number {
    const room = this.#context.prefetch + WINDOW - this.#intake.size
    if (source === 'events') return Math.max(this.#lines.isFull ? 0 : room, this.#completeness.searchRoom)
    return this.#lines.isFull ? MIN_RETRIES - this.#intake.count('retries') : room
  }

  #arrived(entry: Entry): void {
    const { message, source, log } = entry
    if (this.#mode === 'over') {
      this.#intake.giveBack(entry)
      return
    }
    const unblocked = keyToUnblock(entry)
    if (unblocked !== undefined) {
      void this.#lines.unblock(unblocked, entry)
      return
    }
    // A replay can come again long after the channel is complete.
    entry.isSuspect &&= this.#isAfterCrash && (source === 'retries' || !this.#completeness.isComplete)
    const heldKey = this.#held.inPlace.heldKeyOf(permanentKey(entry))
    const here = this.#lines.get(heldKey)
    if (here !== undefined) this.#cameAgain(here, entry)
    else {
      const line = lineOf(entry, this.#context.names.channel, heldKey)
      const place = source === 'events' ? this.#placeOffset + message.sequence : undefined
      const waitMs = log.notBefore - this.#context.settings.clock.now()
      this.#lines.add(entry, { ...line, heldKey, place, waitMs })
      this.pump()
    }
  }

  /** In memory only, an event must not be settled before it is handled. One that is stored as held is settled on the server. */
  #cameAgain(here: Event, entry: Entry): void {
    const isInPlace = this.#held.inPlace.attemptsOf(here) !== undefined
    if (isInPlace && here.entry === undefined) {
      entry.line = here
      this.#stored(entry)
      this.pump()
    } else if (here.entry !== undefined && (isInPlace || (here.heldAt === undefined && !here.entry.isHeld)))
      this.#intake.readopt(here.entry, entry)
    else this.#intake.ack(entry)
  }

  /** The event of an entry is stored as held. Its message is settled, unless it stays where it is. */
  #stored(entry: Entry): void {
    const event = entry.line!
    const attempts = this.#held.inPlace.attemptsOf(event)
    if (attempts === undefined) {
      this.#intake.ack(entry)
      return
    }
    entry.isHeld = true
    entry.known = attempts
    event.entry = entry
  }

  async #resolve(event: Event, acknowledge: () => void): Promise<boolean> {
    if (!(await this.#persist(() => this.#held.resolve(event)))) return false
    acknowledge()
    this.#lines.remove(event)
    return true
  }

  async #die(event: Event, entry: Entry): Promise<boolean> {
    if (!(await this.#persist(() => this.#held.markDead(event)))) return false
    this.#intake.terminate(entry)
    this.#lines.die(event)
    return true
  }

  /** Stores an event with its attempts. */
  async #hold(entry: Entry, log: AttemptLog, notBefore: number, isFirstSuspicion = false): Promise<boolean> {
    const held = [{ event: entry.line!, entry, log, notBefore, isFirstSuspicion }]
    if (!(await this.#persist(() => this.#held.hold(held)))) return false
    entry.isHeld = true
    this.#stored(entry)
    return true
  }

  /** Delivers the first events of the lines, as far as there is room and the order is ours. */
  pump(): void {
    if (this.#mode !== 'running') return
    if (this.#intake.size >= (this.#context.prefetch + WINDOW) * STORE_AT) void this.#lines.storeWaiting()
    this.#deliverLoaded()
    for (const line of this.#ready) {
      if (this.#open.size + this.#loading.size >= this.#context.prefetch || !this.#mayDeliver()) break
      const first = this.#lines.first(line)
      if (first?.state !== 'ready') {
        // Another event has come in front of the one that was ready.
        this.#ready.delete(line)
        continue
      }
      // A suspect runs alone: should the process die, it is known which event it was.
      const mustBeAlone = first.entry?.isSuspect === true && !first.entry.isHeld
      if (mustBeAlone && !this.#draining.admitSuspect(this.#open.size)) break
      this.#ready.delete(line)
      first.state = 'offered'
      if (first.entry === undefined) void this.#load(first)
      else this.#deliver(first.entry)
    }
    this.#intake.pull()
  }

  #mayDeliver(): boolean {
    return this.#openSuspect === undefined && this.#completeness.isComplete && this.#isOurs()
  }

  #deliverLoaded(): void {
    for (const event of this.#loading) {
      if (event.entry === undefined) continue
      if (!this.#mayDeliver()) break
      this.#loading.delete(event)
      if (this.#lines.first(event.line) === event) this.#deliver(event.entry)
      else {
        // Another event has come in front of it. Its message is fetched again when its turn comes.
        event.entry = undefined
        event.state = 'ready'
      }
    }
  }

  #deliver(entry: Entry): void {
    const delivery = new NatsDelivery(entry, this.#context.names.channel)
    this.#open.add(delivery)
    if (entry.isSuspect && !entry.isHeld) this.#openSuspect = delivery
    this.#context.deliver(delivery)
  }

  /** Brings the message of a held event, whose turn has come. It takes the room of a delivery. */
  async #load(event: Event): Promise<void> {
    this.#loading.add(event)
    let entry: Entry | undefined
    const isLoaded = await this.#context.persist(
      () => this.#mode === 'running' || this.#mode === 'paused',
      'deliveries',
      async () => {
        entry = await this.#held.entry(event)
      },
    )
    if (!isLoaded) return
    event.entry ??= entry
    if (event.entry === undefined) {
      // Somebody has deleted it.
      this.#loading.delete(event)
      this.#lines.remove(event)
      this.#context.stalls.removed(1, 0)
    }
    this.pump()
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
