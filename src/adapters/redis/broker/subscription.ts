import type { StallReporter } from '../../../adapter-kit/delivery/stalls.ts'
import { PollLoop } from '../../../adapter-kit/poll-loop.ts'
import type { AttemptRecord } from '../../../core/dead-letter/letter.ts'
import {
  type Delivery,
  DeliveryLostError,
  type Settlement,
  type Subscription,
} from '../../../ports/broker.ts'
import { settlesWithin } from '../../../ports/clock.ts'
import { run } from '../connection/script.ts'
import type { RedisDeadLetters } from '../letters/dead-letters.ts'
import { Acks } from './acks.ts'
import type { HandlerContext } from './context.ts'
import { StreamDelivery } from './delivery.ts'
import { Intake } from './intake.ts'
import { Member } from './member.ts'
import { persist } from './persistence.ts'
import { Reader } from './reader.ts'
import { Returns } from './returns.ts'
import { BRING_DUE } from './scripts/settling.ts'

const MAX_DUE_AT_ONCE = 100
/** How long closing waits, in all, for a server that does not answer. Events it was not told of come again when the lease expires. */
const CLOSE_MS = 5_000

interface SubscriptionOptions extends Omit<HandlerContext, 'isGivenUp'> {
  readonly prefetch: number
  /** Where letters are kept that nobody else has saved. */
  readonly letters: RedisDeadLetters
  readonly stalls: StallReporter
  newName(): string
  onClosed(subscription: StreamSubscription): void
}

/** One of the consumers that share the work of a handler. */
export class StreamSubscription implements Subscription {
  readonly #options: SubscriptionOptions
  readonly #open = new Set<StreamDelivery>()
  readonly #member: Member
  readonly #intake: Intake
  readonly #reader: Reader
  readonly #acks: Acks
  readonly #returns: Returns
  readonly #rounds: PollLoop
  /** Deliveries whose settlement is being written. */
  readonly #settling = new Map<StreamDelivery, Promise<void>>()
  #isClosed = false
  /** Closing has waited long enough: nothing is tried again. */
  #isGivenUp = false
  #closing: Promise<void> | undefined

  constructor(options: SubscriptionOptions, deliver: (delivery: Delivery) => void) {
    const { connection, keys, settings, newName, stalls } = options
    const context = { connection, keys, settings, isGivenUp: () => this.#isGivenUp }
    this.#options = options
    this.#member = new Member(context, newName, () => this.#loseAll())
    this.#acks = new Acks(context, acked => this.#acked(acked))
    this.#returns = new Returns(context)
    this.#intake = new Intake(
      context,
      () => this.#room(),
      delivery => {
        this.#open.add(delivery)
        deliver(delivery)
      },
    )
    this.#reader = new Reader(context, {
      member: this.#member,
      stalls,
      room: () => this.#room() - this.#intake.held.length,
      known: () => this.#known(),
      receive: entries => this.#intake.receive(entries),
      giveBack: async entries => this.#giveBack(await this.#intake.read(entries)),
    })
    this.#rounds = new PollLoop({
      clock: settings.clock,
      minPollMs: settings.maxPollMs,
      maxPollMs: settings.maxPollMs,
      heartbeatMs: settings.leaseMs / 3,
      poll: () => this.#bringDue(),
      heartbeat: () => this.#heartbeat(),
    })
  }

  async enter(): Promise<void> {
    await this.#member.enter()
    await this.#member.reclaim()
  }

  /** Begins to deliver. The subscriber has its subscription by now. */
  start(): void {
    if (this.#isClosed) return
    this.#rounds.start()
    this.#rounds.wakeIn(0)
    this.#reader.resume()
  }

  async begin(delivery: Delivery, ended: readonly AttemptRecord[]): Promise<void> {
    if (!this.#holds(delivery)) throw this.#lost()
    delivery.hasNotes ||= ended.length > 0
    delivery.recordEnds(ended)
    delivery.recordStart()
    if (!(await this.#member.begin(delivery)) || !this.#open.has(delivery)) throw this.#lost()
  }

  settle(delivery: Delivery, settlement: Settlement): void | Promise<void> {
    if (!this.#holds(delivery)) return Promise.reject(this.#lost())
    const { letters, settings } = this.#options
    this.#open.delete(delivery)
    switch (settlement.outcome) {
      case 'done': {
        const { replay } = delivery
        if (replay?.letterId === undefined) return this.#acks.add(delivery)
        // A replay succeeded. Its letter is resolved if it is kept here and nobody has resolved it yet.
        const { letterId, claim } = replay
        const resolved = { to: 'resolved', at: settings.clock.now(), under: claim } as const
        return this.#ackAfter(delivery, () => letters.change(letterId, resolved))
      }
      case 'dead':
        if (settlement.saved) return this.#acks.add(delivery)
        return this.#ackAfter(delivery, () => letters.send(settlement.letter))
      case 'retry':
        delivery.recordEnds(settlement.ended)
        return this.#return(delivery, settlement.notBefore)
      case 'release':
        delivery.takeBackStart()
        return this.#return(delivery, settlement.notBefore)
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

  /** All records about an event are durable before the event is acknowledged. */
  #ackAfter(delivery: StreamDelivery, write: () => Promise<unknown>): Promise<void> {
    return this.#track(delivery, async () => {
      await persist(this.#options.settings, () => this.#isGivenUp, write)
      if (this.#isGivenUp) throw this.#lost()
      this.#acks.add(delivery)
    })
  }

  #return(delivery: StreamDelivery, notBefore: number): Promise<void> {
    return this.#track(delivery, async () => {
      const delayMs = notBefore - this.#options.settings.clock.now()
      const isBack = await this.#returns.add(delivery, delayMs)
      // Not before it is settled: if the process dies until then, its attempt must count.
      this.#member.end(delivery)
      if (!isBack) throw this.#lost()
      if (delayMs > 0) this.#rounds.wakeIn(delayMs)
    })
  }

  async #track(delivery: StreamDelivery, settle: () => Promise<void>): Promise<void> {
    const settling = settle()
    this.#settling.set(delivery, settling)
    try {
      await settling
    } finally {
      this.#settling.delete(delivery)
      this.#madeRoom()
    }
  }

  /** Puts deliveries back as if they had not been delivered, but for the attempts that started meanwhile. */
  async #giveBack(deliveries: readonly StreamDelivery[]): Promise<void> {
    await Promise.all(deliveries.map(delivery => this.#returns.add(delivery, 0)))
  }

  async #close(): Promise<void> {
    this.#isClosed = true
    this.#intake.pause()
    await settlesWithin(this.#options.settings.clock, CLOSE_MS, this.#leave())
    this.#isGivenUp = true
    this.#options.onClosed(this)
  }

  async #leave(): Promise<void> {
    const ended = this.#rounds.end()
    await this.#reader.stop()
    await Promise.allSettled([this.#acks.settled(), ...this.#settling.values()])
    const open = [...this.#open, ...this.#intake.takeAll()]
    this.#open.clear()
    await this.#giveBack(open)
    await ended
    await this.#member.resign().catch(this.#options.settings.onError)
  }

  /** This consumer was taken for dead: others have all that it had. */
  #loseAll(): void {
    this.#open.clear()
    this.#intake.takeAll()
    this.#madeRoom()
  }

  #room(): number {
    return this.#options.prefetch - this.#open.size - this.#acks.count - this.#settling.size
  }

  #known(): ReadonlySet<string> {
    const known = [this.#open, this.#settling.keys(), this.#acks.underWay, this.#intake.held]
    return new Set(known.flatMap(deliveries => Array.from(deliveries, ({ mark }) => mark)))
  }

  #madeRoom(): void {
    this.#intake.pump()
    this.#reader.wake()
  }

  /** Moves due retries to the handler's own stream, and polls again when the next one is due. */
  async #bringDue(): Promise<void> {
    const { connection, keys, settings } = this.#options
    try {
      const places = [keys.own, keys.waiting] as const
      const { moved, dueInMs } = await run(connection, BRING_DUE, places, [String(MAX_DUE_AT_ONCE)])
      if (moved === MAX_DUE_AT_ONCE) this.#rounds.wakeIn(0)
      else if (dueInMs !== undefined) this.#rounds.wakeIn(dueInMs)
    } catch (error) {
      settings.onError(error)
    }
  }

  async #heartbeat(): Promise<void> {
    const duties = [
      () => this.#member.heartbeat(),
      () => this.#member.reclaim(),
      () => this.#reader.findForgotten(),
      () => this.#acks.trim(),
    ]
    for (const duty of duties) await duty().catch(this.#options.settings.onError)
  }

  #holds(delivery: Delivery): delivery is StreamDelivery {
    return delivery instanceof StreamDelivery && this.#open.has(delivery)
  }

  #lost(): DeliveryLostError {
    return new DeliveryLostError(this.#options.settings.name, this.#options.keys.channel)
  }
}
