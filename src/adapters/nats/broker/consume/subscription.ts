import { PendingWork } from '../../../../adapter-kit/pending-work.ts'
import type { AttemptRecord } from '../../../../core/dead-letter/letter.ts'
import { Fifo } from '../../../../core/fifo.ts'
import type { Delivery, Settlement, Subscription } from '../../../../ports/broker.ts'
import { settlesWithin, yieldToEventLoop } from '../../../../ports/clock.ts'
import type { OutgoingMessage } from '../../connection/publisher.ts'
import type { SubscriptionContext } from './context.ts'
import { CrashNotes } from './crash-notes.ts'
import { Draining } from './draining.ts'
import { type Entry, keyToUnblock, NatsDelivery } from './entry.ts'
import { Intake } from './intake.ts'
import { rejectLost } from './lost-delivery.ts'
import { Settler } from './settler.ts'

const CLOSE_MS = 5_000
/** A retry whose time has come by the clock of another machine waits here for at most so long. */
const MAX_CLOCK_DIFFERENCE_MS = 5_000

/**
 * A subscription. A message that its last consumer neither settled nor gave back is a suspect: it runs while nothing else does, so
 * that the next crash shows which message was to blame.
 */
export class NatsSubscription implements Subscription {
  readonly #context: SubscriptionContext
  readonly #intake: Intake
  readonly #settler: Settler
  readonly #notes: CrashNotes
  readonly #open = new Set<NatsDelivery>()
  readonly #settling = new PendingWork()
  readonly #ready = new Fifo<Entry>()
  readonly #suspects = new Fifo<Entry>()
  /** Suspects whose notes are being read. */
  readonly #unread = new Set<Entry>()
  /** Retries that came a little too early by our clock. */
  readonly #early = new Set<Entry>()
  readonly #draining: Draining
  #openSuspect: NatsDelivery | undefined
  #mode: 'starting' | 'running' | 'paused' | 'closed' = 'starting'
  /** Closing has waited long enough: nothing is tried again. */
  #hasGivenUp = false
  #closing: Promise<void> | undefined

  constructor(context: SubscriptionContext) {
    this.#context = context
    this.#settler = new Settler(context)
    this.#notes = new CrashNotes(context)
    this.#draining = new Draining(context.settings.clock, () => this.#pump())
    this.#intake = new Intake(context, {
      room: () => context.prefetch - this.#intake.size,
      arrived: entry => this.#arrived(entry),
    })
  }

  async open(): Promise<void> {
    await this.#intake.open()
  }

  /** The subscriber knows of its subscription in the next turn; a delivery before that could not be settled. */
  start(): void {
    void yieldToEventLoop().then(() => {
      if (this.#mode === 'starting') this.resume()
    })
  }

  /** The server counts deliveries, so that a crash is noticed. That a suspect runs is made durable here, because it runs alone. */
  begin(delivery: Delivery, ended: readonly AttemptRecord[]): void | Promise<void> {
    if (!this.#holds(delivery)) return rejectLost(this.#context, delivery)
    delivery.recordEnds(ended)
    delivery.recordStart()
    if (!delivery.entry.isSuspect) return
    return this.#unlessLost(
      delivery,
      this.#context.persist(
        () => !this.#hasGivenUp,
        'settlements',
        () => this.#notes.begin(delivery.entry, delivery.log),
      ),
    )
  }

  settle(delivery: Delivery, settlement: Settlement): void | Promise<void> {
    if (!this.#holds(delivery)) return rejectLost(this.#context, delivery)
    const { entry } = delivery
    switch (settlement.outcome) {
      case 'done':
        return this.#finish(delivery, () => this.#intake.ack(entry))
      case 'dead':
        if (settlement.saved) return this.#finish(delivery, () => this.#intake.terminate(entry))
        return this.#after(
          delivery,
          this.#settler.keepLetter(delivery, settlement.letter, () => !this.#hasGivenUp),
          () => this.#intake.terminate(entry),
        )
      case 'retry':
        delivery.recordEnds(settlement.ended)
        return this.#putBack(delivery, settlement.notBefore)
      case 'release':
        if (entry.isSuspect && !delivery.isChanged) return this.#keepSuspect(delivery, settlement.notBefore)
        delivery.takeBackStart()
        return this.#putBack(delivery, settlement.notBefore)
    }
  }

  pause(): void {
    if (this.#mode === 'closed') return
    this.#mode = 'paused'
    this.#intake.pause()
  }

  resume(): void {
    if (this.#mode === 'closed') return
    this.#mode = 'running'
    this.#intake.resume()
    this.#pump()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close().finally(this.#context.forget)
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#mode = 'closed'
    this.#draining.close()
    const { clock } = this.#context.settings
    await settlesWithin(clock, CLOSE_MS, this.#intake.stop())
    await settlesWithin(clock, CLOSE_MS, this.#settling.settled())
    await settlesWithin(clock, CLOSE_MS, this.#giveBack())
    this.#hasGivenUp = true
    this.#intake.close()
    const { current } = this.#context.link
    if (current !== undefined) await settlesWithin(clock, CLOSE_MS, current.flush())
  }

  /**
   * Everything that is here is published again with its attempts, because the server cannot tell a message that is given
   * back from one whose consumer has crashed.
   */
  async #giveBack(): Promise<void> {
    const open = [...this.#open]
    this.#open.clear()
    for (const suspect of [...this.#suspects.drain(), ...this.#unread]) this.#intake.giveBack(suspect)
    this.#unread.clear()
    const back = [
      ...open.map(({ entry, log }) => ({ entry, log })),
      ...[...this.#ready.drain(), ...this.#early].map(entry => ({
        entry,
        log: entry.known ?? entry.log.log,
      })),
    ]
    const { clock } = this.#context.settings
    const fitting: { readonly entry: Entry; readonly message: OutgoingMessage }[] = []
    for (const { entry, log } of back) {
      const message = this.#settler.retryMessage(entry, log, entry.log.notBefore - clock.now())
      if (message === undefined) this.#intake.giveBack(entry)
      else fitting.push({ entry, message })
    }
    if (fitting.length === 0) return
    await this.#context.publisher.publish(fitting.map(({ message }) => message))
    for (const { entry } of fitting) this.#settled(entry, () => this.#intake.ack(entry))
  }

  #arrived(entry: Entry): void {
    const { clock } = this.#context.settings
    const waitMs = entry.log.notBefore - clock.now()
    // Only a consumer that keeps an order has keys to unblock.
    if (keyToUnblock(entry) !== undefined) this.#intake.ack(entry)
    else if (waitMs > 0) this.#wait(entry, waitMs)
    else if (entry.isSuspect) void this.#suspect(entry)
    else {
      this.#ready.push(entry)
      this.#pump()
      return
    }
    this.#intake.pull()
  }

  /**
   * The server waits, so that retries take no room of other events. One that comes again too early has waited there by another
   * clock, or the request to wait was lost. Given back once more, it would look like one whose consumer has crashed.
   */
  #wait(entry: Entry, waitMs: number): void {
    if (entry.message.deliveries === 1) {
      this.#intake.giveBack(entry, waitMs)
      return
    }
    if (waitMs > MAX_CLOCK_DIFFERENCE_MS) {
      void this.#waitAnew(entry, waitMs)
      return
    }
    this.#early.add(entry)
    this.#context.settings.clock.schedule(waitMs, () => {
      if (this.#mode !== 'closed' && this.#early.delete(entry)) this.#arrived(entry)
    })
  }

  /** The rest of the wait begins in a new message, whose deliveries the server counts from 1. */
  async #waitAnew(entry: Entry, waitMs: number): Promise<void> {
    const message = this.#settler.retryMessage(entry, entry.log.log, waitMs)
    if (message === undefined) {
      this.#intake.giveBack(entry, waitMs)
      return
    }
    this.#settling.begin()
    if (await this.#settler.putBack(message, () => !this.#hasGivenUp)) this.#intake.ack(entry)
    this.#settling.end()
    this.#intake.pull()
  }

  async #suspect(entry: Entry): Promise<void> {
    const { persist, settings } = this.#context
    this.#unread.add(entry)
    let notBefore = 0
    const isRead = await persist(
      () => !this.#hasGivenUp,
      'deliveries',
      async () => {
        notBefore = await this.#notes.read(entry)
      },
    )
    if (!this.#unread.delete(entry) || !isRead) return
    const waitMs = notBefore - settings.clock.now()
    if (waitMs > 0) {
      this.#intake.giveBack(entry, waitMs)
      this.#intake.pull()
      return
    }
    this.#suspects.push(entry)
    this.#pump()
  }

  #pump(): void {
    if (this.#mode !== 'running') return
    const { prefetch } = this.#context
    if (this.#openSuspect === undefined) {
      if (this.#suspects.size > 0) {
        if (this.#draining.admitSuspect(this.#open.size)) this.#deliver(this.#suspects.shift()!)
      } else
        while (this.#mode === 'running' && this.#open.size < prefetch && this.#ready.size > 0)
          this.#deliver(this.#ready.shift()!)
    }
    this.#intake.pull()
  }

  /** The subscriber may settle the delivery before this returns. */
  #deliver(entry: Entry): void {
    const delivery = new NatsDelivery(entry, this.#context.names.channel)
    this.#open.add(delivery)
    if (entry.isSuspect) this.#openSuspect = delivery
    this.#context.deliver(delivery)
  }

  #finish(delivery: NatsDelivery, acknowledge: () => void): void {
    this.#open.delete(delivery)
    this.#settled(delivery.entry, acknowledge)
    this.#ended(delivery)
  }

  /** The note is removed after the message: the other way round a crash would forget its attempts. */
  #settled(entry: Entry, acknowledge: () => void): void {
    acknowledge()
    if (entry.noteAt !== undefined) this.#notes.remove(entry)
  }

  /**
   * No attempt of a suspect has begun here, as when a ledger still has the claim of the process that died. It waits where it
   * is: published again, it would no longer be a suspect, and its crashes would never count.
   */
  #keepSuspect(delivery: NatsDelivery, notBefore: number): void {
    this.#open.delete(delivery)
    this.#intake.giveBack(delivery.entry, Math.max(0, notBefore - this.#context.settings.clock.now()))
    this.#ended(delivery)
  }

  #putBack(delivery: NatsDelivery, notBefore: number): Promise<void> {
    const { entry, log } = delivery
    const waitMs = notBefore - this.#context.settings.clock.now()
    const isWanted = () => !this.#hasGivenUp
    const message = this.#settler.retryMessage(entry, log, waitMs)
    if (message !== undefined)
      return this.#after(delivery, this.#settler.putBack(message, isWanted), () => this.#intake.ack(entry))
    // There is no room for another header: the event stays where it is, and its attempts and its wait are noted.
    const noted = this.#context.persist(isWanted, 'settlements', () =>
      this.#notes.write(entry, log, waitMs > 0 ? { notBefore, waitMs } : undefined),
    )
    return this.#after(delivery, noted, () => {
      entry.noteAt = undefined
      this.#intake.giveBack(entry, Math.max(0, waitMs))
    })
  }

  /** Acknowledges when the settlement is durable. */
  async #after(delivery: NatsDelivery, work: Promise<boolean>, acknowledge: () => void): Promise<void> {
    this.#open.delete(delivery)
    this.#settling.begin()
    try {
      if (!(await work)) return await rejectLost(this.#context, delivery)
      this.#settled(delivery.entry, acknowledge)
    } finally {
      this.#settling.end()
      this.#ended(delivery)
    }
  }

  /** The next suspect waits until the settlement of the last one is durable: it may crash this process. */
  #ended(delivery: NatsDelivery): void {
    if (this.#openSuspect === delivery) this.#openSuspect = undefined
    this.#pump()
  }

  async #unlessLost(delivery: NatsDelivery, work: Promise<boolean>): Promise<void> {
    if (!(await work) || !this.#open.has(delivery)) await rejectLost(this.#context, delivery)
  }

  #holds(delivery: Delivery): delivery is NatsDelivery {
    return delivery instanceof NatsDelivery && this.#open.has(delivery)
  }
}
