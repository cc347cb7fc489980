import type { StallReporter } from '../../../adapter-kit/delivery/stalls.ts'
import type { LetterReplay } from '../../../core/dead-letter/change.ts'
import type { AttemptRecord, DeadLetter } from '../../../core/dead-letter/letter.ts'
import {
  type Delivery,
  DeliveryLostError,
  type Settlement,
  type Subscription,
} from '../../../ports/broker.ts'
import { within } from '../../../ports/clock.ts'
import type { RedisConnection } from '../connection/connection.ts'
import { listOf, textOf } from '../connection/replies.ts'
import { run } from '../connection/script.ts'
import type { RedisDeadLetters } from '../letters/dead-letters.ts'
import { Acks } from './acks.ts'
import { StreamDelivery } from './delivery.ts'
import type { Hole } from './entry.ts'
import { Intake } from './intake.ts'
import type { HandlerPlaces } from './keys.ts'
import { Member } from './member.ts'
import type { RedisStreamsSettings } from './options.ts'
import { persist } from './persistence.ts'
import { Reader } from './reader.ts'
import { Returns } from './returns.ts'
import { Rounds } from './rounds.ts'
import { FINISH } from './scripts/finishing.ts'
import { BRING_DUE } from './scripts/returning.ts'

const MOST_DUE_AT_ONCE = 100
/** How long closing waits, in all, for a server that does not answer. What it was not told comes again when the lease is over. */
const CLOSE_MS = 5_000

interface SubscriptionParts {
  readonly settings: RedisStreamsSettings
  readonly places: HandlerPlaces
  readonly prefetch: number
  readonly on: RedisConnection
  /** Where letters are kept that nobody else has saved. */
  readonly letters: RedisDeadLetters
  readonly stalls: StallReporter
  newName(): string
  left(subscription: StreamSubscription): void
}

/** One of the consumers that share the work of a handler. */
export class StreamSubscription implements Subscription {
  readonly #parts: SubscriptionParts
  readonly #open = new Set<StreamDelivery>()
  readonly #member: Member
  readonly #intake: Intake
  readonly #reader: Reader
  readonly #acks: Acks
  readonly #returns: Returns
  readonly #rounds: Rounds
  /** Settled, and that is being written down. */
  readonly #settling = new Map<StreamDelivery, Promise<void>>()
  #isClosed = false
  /** Nothing is tried again any more: whoever closes has waited long enough. */
  #isGivenUp = false
  #closing: Promise<void> | undefined

  constructor(parts: SubscriptionParts, deliver: (delivery: Delivery) => void) {
    const { settings, places, on, newName, stalls } = parts
    const isGivenUp = () => this.#isGivenUp
    this.#parts = parts
    this.#member = new Member(on, places, settings, newName, () => this.#lose())
    this.#acks = new Acks(on, places, settings, isGivenUp, acked => this.#acked(acked))
    this.#returns = new Returns(on, places, settings, isGivenUp)
    this.#intake = new Intake({ on, places, settings, room: () => this.#room() }, delivery => {
      this.#open.add(delivery)
      deliver(delivery)
    })
    this.#reader = new Reader(on.another('reading'), places, settings, {
      consumer: () => this.#member.name,
      room: () => this.#room() - this.#intake.held,
      known: () => this.#known(),
      receive: entries => this.#intake.receive(entries),
      giveBack: async entries => this.#giveBack(await this.#intake.read(entries)),
      bury: holes => this.#bury(holes),
      enter: () => this.#member.enter(),
      stalled: error => stalls.stalled('deliveries', this, error),
      recovered: () => stalls.recovered('deliveries'),
    })
    this.#rounds = new Rounds({
      clock: settings.clock,
      maxPollMs: settings.maxPollMs,
      beatMs: settings.leaseMs / 3,
      bringDue: () => this.#bringDue(),
      beat: () => this.#beat(),
    })
  }

  async enter(): Promise<void> {
    await this.#member.enter()
    await this.#member.reclaim()
  }

  /** The subscriber knows of its subscription now, so that deliveries may come. */
  start(): void {
    if (this.#isClosed) return
    this.#rounds.start()
    this.#reader.resume()
  }

  async begin(delivery: Delivery, ended: readonly AttemptRecord[]): Promise<void> {
    if (!this.#holds(delivery)) throw this.#lost()
    delivery.hasNotes ||= ended.length > 0
    delivery.begin(ended)
    if (!(await this.#member.begin(delivery)) || !this.#open.has(delivery)) throw this.#lost()
  }

  settle(delivery: Delivery, settlement: Settlement): void | Promise<void> {
    if (!this.#holds(delivery)) return Promise.reject(this.#lost())
    this.#open.delete(delivery)
    switch (settlement.outcome) {
      case 'done': {
        const { replay } = delivery
        return replay?.letterId === undefined
          ? this.#acks.add(delivery)
          : this.#track(delivery, this.#recover(delivery, replay.letterId, replay.claim))
      }
      case 'dead':
        return settlement.saved
          ? this.#acks.add(delivery)
          : this.#track(delivery, this.#keep(delivery, settlement.letter))
      case 'retry':
        delivery.end(settlement.ended)
        return this.#track(delivery, this.#return(delivery, delivery.past, settlement.notBefore))
      case 'release':
        return this.#track(delivery, this.#return(delivery, delivery.pastTakenBack, settlement.notBefore))
    }
  }

  pause(): void {
    this.#intake.pause()
    this.#reader.pause()
  }

  resume(): void {
    if (this.#isClosed) return
    this.#intake.resume()
    this.#reader.resume()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  #acked(deliveries: readonly StreamDelivery[]): void {
    for (const delivery of deliveries) this.#member.end(delivery)
    this.#madeRoom()
  }

  /** The letter is durable before the event is acknowledged. */
  async #keep(delivery: StreamDelivery, letter: DeadLetter): Promise<void> {
    await this.#write(() => this.#parts.letters.send(letter))
    this.#acks.add(delivery)
  }

  /** A replay was handled. Its letter is resolved here, if it is kept here and nobody has done it yet. */
  async #recover(delivery: StreamDelivery, letterId: string, under: LetterReplay): Promise<void> {
    const resolved = { to: 'resolved', at: this.#parts.settings.clock.now(), under } as const
    await this.#write(() => this.#parts.letters.change(letterId, resolved))
    this.#acks.add(delivery)
  }

  async #write(task: () => Promise<unknown>): Promise<void> {
    await persist(this.#parts.settings, () => this.#isGivenUp, task)
    if (this.#isGivenUp) throw this.#lost()
  }

  async #return(delivery: StreamDelivery, past: StreamDelivery['past'], notBefore: number): Promise<void> {
    const delayMs = notBefore - this.#parts.settings.clock.now()
    const { side, id } = delivery
    const isBack = await this.#returns.add({
      side,
      id,
      past,
      delayMs,
      text: () => this.#intake.textOf(delivery),
    })
    // Not before it is settled: if the process dies until then, the attempt it was about must count.
    this.#member.end(delivery)
    if (!isBack) throw this.#lost()
    if (delayMs > 0) this.#rounds.wakeIn(delayMs)
  }

  async #track(delivery: StreamDelivery, settling: Promise<void>): Promise<void> {
    this.#settling.set(delivery, settling)
    try {
      await settling
    } finally {
      this.#settling.delete(delivery)
      this.#madeRoom()
    }
  }

  /** As if they had not been handed over, but for the attempts that began meanwhile. */
  async #giveBack(deliveries: readonly StreamDelivery[]): Promise<void> {
    await Promise.all(
      deliveries.map(delivery => {
        const { side, id, past } = delivery
        return this.#returns.add({ side, id, past, delayMs: 0, text: () => this.#intake.textOf(delivery) })
      }),
    )
  }

  async #close(): Promise<void> {
    this.#isClosed = true
    this.#intake.pause()
    await within(this.#parts.settings.clock, CLOSE_MS, this.#leave())
    this.#isGivenUp = true
    this.#parts.left(this)
  }

  async #leave(): Promise<void> {
    const ended = this.#rounds.end()
    await this.#reader.stop()
    await Promise.allSettled([this.#acks.settled(), ...this.#settling.values()])
    const open = [...this.#open, ...this.#intake.takeAll()]
    this.#open.clear()
    await this.#giveBack(open)
    await ended
    await this.#member.resign().catch(this.#parts.settings.onError)
  }

  /** Taken for dead: others have all that this one had. */
  #lose(): void {
    this.#open.clear()
    this.#intake.takeAll()
    this.#madeRoom()
  }

  #room(): number {
    return this.#parts.prefetch - this.#open.size - this.#acks.count - this.#settling.size
  }

  #known(): ReadonlySet<string> {
    const known = [this.#open, this.#settling.keys(), this.#acks.underWay, this.#intake.all]
    return new Set(known.flatMap(deliveries => Array.from(deliveries, ({ mark }) => mark)))
  }

  #madeRoom(): void {
    this.#intake.pump()
    this.#reader.wake()
  }

  async #bringDue(): Promise<number | undefined> {
    const { on, places, settings } = this.#parts
    try {
      const { moved, dueInMs } = await run(
        on,
        BRING_DUE,
        [places.own, places.waiting],
        [String(MOST_DUE_AT_ONCE)],
      )
      return moved === MOST_DUE_AT_ONCE ? 0 : dueInMs
    } catch (error) {
      settings.onError(error)
      return undefined
    }
  }

  /** One that fails is made up for by the next; if none works, the lease runs out. */
  async #beat(): Promise<void> {
    const duties = [
      () => this.#member.beat(),
      () => this.#member.reclaim(),
      () => this.#findForgotten(),
      () => this.#acks.trim(),
    ]
    for (const duty of duties) await duty().catch(this.#parts.settings.onError)
  }

  /** What has been in its name for a while, and is not known here, came with an answer that nobody has heard. */
  async #findForgotten(): Promise<void> {
    const { on, places, settings } = this.#parts
    for (const side of ['own', 'events'] as const) {
      const known = this.#known()
      const key = places[side]
      const idle = ['IDLE', String(Math.ceil(settings.leaseMs / 3))]
      // One more than are known: if there are so many, one of them is not.
      const range = ['-', '+', String(known.size + 1), this.#member.name]
      const words = ['XPENDING', key, places.handler, ...idle, ...range]
      const found = listOf(await on.send('looking for events', words, { key, again: true }))
      if (found.some(each => !known.has(`${side} ${textOf(listOf(each)[0])}`))) this.#reader.doubt()
    }
  }

  async #bury(holes: readonly Hole[]): Promise<void> {
    const { events, own, notes, handler } = this.#parts.places
    const marks = holes.flatMap(({ side, id }) => [side, id])
    await run(this.#parts.on, FINISH, [events, own, notes], [handler, ...marks], { again: true })
  }

  #holds(delivery: Delivery): delivery is StreamDelivery {
    return delivery instanceof StreamDelivery && this.#open.has(delivery)
  }

  #lost(): DeliveryLostError {
    return new DeliveryLostError(this.#parts.settings.name, this.#parts.places.channel)
  }
}
