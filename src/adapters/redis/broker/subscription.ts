import type { StallReporter } from '../../../adapter-kit/delivery/stalls.ts'
import { PollLoop } from '../../../adapter-kit/poll-loop.ts'
import type { AttemptRecord } from '../../../core/dead-letter/letter.ts'
import {
  type Delivery,
  DeliveryLostError,
  type Settlement,
  type Subscription,
} from '../../../ports/broker.ts'
import { settlesWithin, yieldToEventLoop } from '../../../ports/clock.ts'
import { isLetterFault, LETTER_FAULT_DELAY_MS, UnreadableLetterError } from '../../../ports/dead-letters.ts'
import { run } from '../connection/script.ts'
import type { RedisDeadLetters } from '../letters/dead-letters.ts'
import { Acks } from './acks.ts'
import type { HandlerContext } from './context.ts'
import { StreamDelivery } from './delivery.ts'
import { DeliveryBuffer } from './delivery-buffer.ts'
import { EntryReturns } from './entry-returns.ts'
import { GroupConsumer } from './group-consumer.ts'
import { retryUntilDone } from './retry-until-done.ts'
import { BRING_DUE } from './scripts/settling.ts'
import { StreamReader } from './stream-reader.ts'

const MAX_DUE_AT_ONCE = 100
/**
 * The total time that closing waits for a server that does not answer. Events that it could not settle are delivered
 * again when the lease expires.
 */
const CLOSE_MS = 5_000

interface SubscriptionOptions extends Omit<HandlerContext, 'hasGivenUp'> {
  readonly prefetch: number
  /** Keeps the letters that no other store has saved. */
  readonly letters: RedisDeadLetters
  readonly stalls: StallReporter
  newName(): string
  onClosed(subscription: StreamSubscription): void
}

/** One of the consumers that share the work of a handler. */
export class StreamSubscription implements Subscription {
  readonly #options: SubscriptionOptions
  readonly #open = new Set<StreamDelivery>()
  readonly #consumer: GroupConsumer
  readonly #buffer: DeliveryBuffer
  readonly #reader: StreamReader
  readonly #acks: Acks
  readonly #returns: EntryReturns
  readonly #rounds: PollLoop
  /** Deliveries whose settlement is being written. */
  readonly #settling = new Map<StreamDelivery, Promise<void>>()
  #isClosed = false
  /** Closing has waited long enough: nothing is tried again. */
  #hasGivenUp = false
  #closing: Promise<void> | undefined

  constructor(options: SubscriptionOptions, deliver: (delivery: Delivery) => void) {
    const { connection, keys, settings, newName, stalls } = options
    const context = { connection, keys, settings, hasGivenUp: () => this.#hasGivenUp }
    this.#options = options
    this.#consumer = new GroupConsumer(context, newName, () => this.#loseAll())
    this.#acks = new Acks(context, acked => this.#acked(acked))
    this.#returns = new EntryReturns(context)
    this.#buffer = new DeliveryBuffer(
      context,
      () => this.#room(),
      delivery => {
        this.#open.add(delivery)
        deliver(delivery)
      },
    )
    this.#reader = new StreamReader(context, {
      consumer: this.#consumer,
      stalls,
      room: () => this.#room() - this.#buffer.held.length,
      known: () => this.#known(),
      receive: entries => this.#buffer.receive(entries),
      giveBack: async entries => this.#giveBack(await this.#buffer.read(entries)),
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

  async open(): Promise<void> {
    await this.#consumer.enter()
    await this.#consumer.reclaim()
  }

  /** Deliveries begin in the next turn. By then the subscriber has the subscription that it needs for settling. */
  start(): void {
    void yieldToEventLoop().then(() => {
      if (this.#isClosed) return
      this.#rounds.start()
      this.#rounds.wakeIn(0)
      this.#reader.resume()
    })
  }

  begin(delivery: Delivery, ended: readonly AttemptRecord[]): Promise<void> {
    if (!this.#holds(delivery)) return Promise.reject(this.#lost())
    delivery.hasNotes ||= ended.length > 0
    delivery.recordEnds(ended)
    delivery.recordStart()
    return this.#consumer.begin(delivery).then(hasBegun => {
      if (!hasBegun || !this.#open.has(delivery)) throw this.#lost()
    })
  }

  settle(delivery: Delivery, settlement: Settlement): void | Promise<void> {
    if (!this.#holds(delivery)) return Promise.reject(this.#lost())
    const { letters, settings, stalls } = this.#options
    this.#open.delete(delivery)
    switch (settlement.outcome) {
      case 'done': {
        const { replay } = delivery
        if (replay?.letterId === undefined) return this.#acks.add(delivery)
        // A replay succeeded. Its letter is resolved if it is kept here and is not resolved yet.
        const { letterId, claim } = replay
        const resolved = { to: 'resolved', at: settings.clock.now(), onlyIfSentBy: claim } as const
        return this.#ackAfter(
          delivery,
          () => letters.change(letterId, resolved),
          // The letter stays as it is: its event must not run again because of it.
          async fault => stalls.unreadable(new UnreadableLetterError(letterId, fault)),
        )
      }
      case 'dead':
        if (settlement.saved) return this.#acks.add(delivery)
        return this.#ackAfter(
          delivery,
          () => letters.send(settlement.letter),
          async fault => {
            delivery.takeBackStart()
            await this.#putBack(delivery, settings.clock.now() + LETTER_FAULT_DELAY_MS)
            throw fault
          },
        )
      case 'retry':
        delivery.recordEnds(settlement.ended)
        return this.#return(delivery, settlement.notBefore)
      case 'release':
        delivery.takeBackStart()
        return this.#return(delivery, settlement.notBefore)
    }
  }

  pause(): void {
    this.#buffer.pause()
    this.#reader.pause()
  }

  resume(): void {
    if (this.#isClosed) return
    this.#buffer.resume()
    this.#reader.resume()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  #acked(deliveries: readonly StreamDelivery[]): void {
    for (const delivery of deliveries) this.#consumer.end(delivery)
    this.#madeRoom()
  }

  /**
   * Acknowledges an event after all records about it are durable. `onFault` receives the fault of a letter, which no repetition
   * removes; the event is acknowledged unless it rejects.
   */
  #ackAfter(
    delivery: StreamDelivery,
    write: () => Promise<unknown>,
    onFault: (fault: unknown) => Promise<void>,
  ): Promise<void> {
    return this.#track(delivery, async () => {
      let fault: unknown
      const record = async () => {
        await write().catch(error => {
          if (!isLetterFault(error)) throw error
          fault = error
        })
      }
      await retryUntilDone(this.#options.settings, () => this.#hasGivenUp, record)
      if (this.#hasGivenUp) throw this.#lost()
      if (fault !== undefined) await onFault(fault)
      this.#acks.add(delivery)
    })
  }

  #return(delivery: StreamDelivery, notBefore: number): Promise<void> {
    return this.#track(delivery, () => this.#putBack(delivery, notBefore))
  }

  async #putBack(delivery: StreamDelivery, notBefore: number): Promise<void> {
    const { clock } = this.#options.settings
    const mayWait = notBefore > clock.now()
    const isBack = await this.#returns.add(delivery, notBefore)
    // The attempt ends only when the event is settled: if the process crashes before, the attempt must count.
    this.#consumer.end(delivery)
    if (!isBack) throw this.#lost()
    if (mayWait) this.#rounds.wakeIn(Math.max(0, notBefore - clock.now()))
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

  /** Puts deliveries back as if they had not been delivered, except for the attempts that started. */
  async #giveBack(deliveries: readonly StreamDelivery[]): Promise<void> {
    await Promise.all(deliveries.map(delivery => this.#returns.add(delivery, 0)))
  }

  async #close(): Promise<void> {
    this.#isClosed = true
    this.#buffer.pause()
    await settlesWithin(this.#options.settings.clock, CLOSE_MS, this.#leave())
    this.#hasGivenUp = true
    this.#options.onClosed(this)
  }

  async #leave(): Promise<void> {
    const ended = this.#rounds.end()
    await this.#reader.stop()
    await Promise.allSettled([this.#acks.settled(), ...this.#settling.values()])
    const open = [...this.#open, ...this.#buffer.takeAll()]
    this.#open.clear()
    await this.#giveBack(open)
    await ended
    await this.#consumer.resign().catch(this.#options.settings.onError)
  }

  /** Others declared this consumer dead, and have all its entries. */
  #loseAll(): void {
    this.#open.clear()
    this.#buffer.takeAll()
    this.#madeRoom()
  }

  #room(): number {
    return this.#options.prefetch - this.#open.size - this.#acks.count - this.#settling.size
  }

  #known(): ReadonlySet<string> {
    const known = [this.#open, this.#settling.keys(), this.#acks.underWay, this.#buffer.held]
    return new Set(known.flatMap(deliveries => Array.from(deliveries, ({ mark }) => mark)))
  }

  #madeRoom(): void {
    this.#buffer.pump()
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
      () => this.#consumer.heartbeat(),
      () => this.#consumer.reclaim(),
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
