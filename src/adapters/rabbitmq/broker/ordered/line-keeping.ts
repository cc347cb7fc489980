import type { Delivery } from '../../../../ports/broker.ts'
import { monotonicNow } from '../../../../ports/clock.ts'
import type { AmqpMessage } from '../../connection/amqp.ts'
import type { RabbitmqSettings } from '../../options.ts'
import { type Place, RabbitmqDelivery } from '../consume/delivery.ts'
import type { LostDeliveries } from '../consume/lost.ts'
import type { Session } from '../consume/session.ts'
import { countOf, OWN, textOf } from '../wire/headers.ts'
import { readHeldWaitMs } from '../wire/state.ts'
import type { Holder } from './holder.ts'
import type { KeeperListener } from './keeper.ts'
import { type Entry, Lines } from './lines.ts'

/**
 * Keeps the line of each key while the order is ours. Fresh events come from the queue; what is held comes back through
 * the held queue as a new copy, which takes the place of the one before. Until a copy has come, the one before is not
 * acknowledged, so that there is one on the server at any time.
 */
export class LineKeeping implements KeeperListener {
  readonly #settings: RabbitmqSettings
  readonly #place: Place
  readonly #prefetch: number
  readonly #deliver: (delivery: Delivery) => void
  readonly #holder: Holder
  readonly #lost: LostDeliveries
  readonly #lines = new Lines()
  readonly #open = new Map<Delivery, Entry>()
  #session: Session | undefined
  /** Called when the last that is open is settled; nothing is handed over before the next owning. */
  #drained: (() => void) | undefined
  #mode: 'starting' | 'running' | 'paused' | 'closed' = 'starting'

  constructor(
    settings: RabbitmqSettings,
    place: Place,
    prefetch: number,
    deliver: (delivery: Delivery) => void,
    holder: Holder,
    lost: LostDeliveries,
  ) {
    this.#settings = settings
    this.#place = place
    this.#prefetch = prefetch
    this.#deliver = deliver
    this.#holder = holder
    this.#lost = lost
  }

  own(session: Session, held: readonly AmqpMessage[]): void {
    this.#session = session
    this.#drained = undefined
    const newest = new Map<number, AmqpMessage>()
    for (const message of held) {
      if (headerOf(message, OWN.letGo) !== undefined) continue
      const place = countOf(message.properties.headers?.[OWN.place])
      const older = newest.get(place)
      if (older !== undefined) session.settled(older)
      newest.set(place, message)
    }
    for (const [place, message] of newest) this.#load(session, place, message)
    for (const message of held) if (headerOf(message, OWN.letGo) !== undefined) this.held(session, message)
    this.#pump()
  }

  held(session: Session, message: AmqpMessage): void {
    const letGo = headerOf(message, OWN.letGo)
    if (letGo !== undefined) {
      session.settled(message)
      const isForUs = (headerOf(message, OWN.letGoQueue) ?? this.#place.queue) === this.#place.queue
      const entry = isForUs ? this.#lines.dead(letGo) : undefined
      if (entry !== undefined) this.#finish(entry)
      return
    }
    const entry = this.#lines.at(countOf(message.properties.headers?.[OWN.place]))
    const deadId = headerOf(message, OWN.deadEvent)
    const delivery = deadId === undefined ? this.#read(session, message) : undefined
    // A copy too many, from a publishing that was not heard of in time.
    if (entry === undefined || entry.id !== (deadId ?? delivery?.id)) session.settled(message)
    else this.#replace(entry, message, delivery)
  }

  receive(session: Session, message: AmqpMessage): void {
    const delivery = this.#read(session, message)
    const event = 'raw' in delivery.content ? undefined : delivery.content
    const place = this.#lines.nextPlace()
    const key = event?.key === undefined ? keyless(place) : keyed(event.key)
    const same = this.#lines.of(key).find(({ id }) => id === event?.id)
    if (same?.state === 'dead') void this.#publishedAgain(same, delivery)
    else if (same !== undefined && message.fields.redelivered) session.settled(message)
    else {
      const { redelivered: isStray } = message.fields
      this.#add({ ...this.#entryOf(key, place, message), id: event?.id, delivery, isStray })
    }
  }

  drain(): Promise<void> {
    return new Promise(resolve => {
      this.#drained = resolve
      this.#pump()
    })
  }

  lose(session: Session): void {
    if (this.#session !== session) return
    this.#session = undefined
    for (const { delivery } of this.#lines.all()) if (delivery !== undefined) this.#lost.add(delivery)
    this.#open.clear()
    this.#lines.clear()
  }

  /** The entry of a delivery that is open, or undefined. */
  entryOf(delivery: Delivery): Entry | undefined {
    return this.#session?.isOpen ? this.#open.get(delivery) : undefined
  }

  /** It is being settled: its place among the open ones is free. */
  leave(delivery: Delivery): void {
    this.#open.delete(delivery)
    this.#pump()
  }

  finish(entry: Entry): void {
    this.#finish(entry)
    this.#pump()
  }

  run(): void {
    if (this.#mode === 'closed') return
    this.#mode = 'running'
    this.#pump()
  }

  pause(): void {
    if (this.#mode !== 'closed') this.#mode = 'paused'
  }

  close(): void {
    this.#mode = 'closed'
    this.#open.clear()
  }

  /** The server does not let anything be held for too long: all that waits is written down anew. */
  renew(): void {
    for (const entry of this.#lines.all()) {
      const { state, delivery } = entry
      if (state === 'dead') void this.#holder.renew(entry).catch(() => {})
      else if (state !== 'open' && delivery !== undefined)
        void this.#holder.hold(delivery, entry, this.#restMs(entry))
    }
  }

  #load(session: Session, place: number, message: AmqpMessage): void {
    const id = headerOf(message, OWN.deadEvent)
    const key = headerOf(message, OWN.key)
    const entry = this.#entryOf(keyless(place), place, message)
    if (id !== undefined) this.#add({ ...entry, key: key ?? '', id, state: 'dead' })
    else {
      const delivery = this.#read(session, message, true)
      const line = key === undefined ? entry.key : keyed(key)
      this.#add({ ...entry, key: line, id: delivery.id, delivery, isStray: true })
    }
  }

  #add(entry: Entry): void {
    this.#lines.add(entry)
    if (entry.state === 'waiting') this.#wait(entry)
    else this.#pump()
  }

  /** A new copy has come: it is the one that counts from now on. */
  #replace(entry: Entry, message: AmqpMessage, delivery: RabbitmqDelivery | undefined): void {
    if (entry.message !== undefined) this.#session?.settled(entry.message)
    entry.message = message
    if (entry.state === 'open') return
    entry.delivery = delivery
    entry.isStray = false
    if (delivery === undefined) entry.state = 'dead'
    else {
      entry.state = 'waiting'
      entry.dueAt = this.#dueAt(message)
      this.#wait(entry)
    }
    this.#lines.look(entry.key)
  }

  #wait(entry: Entry): void {
    const { delivery } = entry
    const ripe = () => {
      if (entry.delivery !== delivery || entry.state !== 'waiting') return
      entry.state = 'ready'
      this.#lines.look(entry.key)
      this.#pump()
    }
    const waitMs = this.#restMs(entry)
    if (waitMs <= 0) ripe()
    else this.#settings.clock.schedule(waitMs, ripe)
  }

  #entryOf(key: string, place: number, message: AmqpMessage): Entry {
    const dueAt = this.#dueAt(message)
    const state = dueAt > monotonicNow(this.#settings.clock) ? 'waiting' : 'ready'
    return { key, id: undefined, place, state, delivery: undefined, message, dueAt, isStray: false }
  }

  #dueAt({ properties }: AmqpMessage): number {
    const { clock } = this.#settings
    return monotonicNow(clock) + readHeldWaitMs(properties.headers ?? {}, clock.now())
  }

  #restMs({ dueAt }: Entry): number {
    return dueAt - monotonicNow(this.#settings.clock)
  }

  /** It takes the place where it died, and the mark of its death goes when it is written down there. */
  async #publishedAgain(entry: Entry, delivery: RabbitmqDelivery): Promise<void> {
    if (await this.#holder.hold(delivery, entry, 0)) delivery.session.settled(delivery.message)
  }

  #finish(entry: Entry): void {
    if (entry.message !== undefined) this.#session?.settled(entry.message)
    this.#lines.forget(entry)
    this.#lines.leave(entry)
    this.#pump()
  }

  /** One that was begun by a process that died, and on record as such, is known to be at fault for that. */
  #read(session: Session, message: AmqpMessage, wasHeld = false): RabbitmqDelivery {
    const delivery = new RabbitmqDelivery(session, message, this.#place, false)
    const known = message.fields.redelivered ? this.#lost.take(delivery) : undefined
    const { past } = delivery
    const crashed =
      wasHeld && past.isSuspected ? { ...past, started: past.started + 1, isSuspected: false } : undefined
    const better = known ?? crashed
    return better === undefined
      ? delivery
      : new RabbitmqDelivery(session, message, this.#place, false, better)
  }

  #pump(): void {
    if (this.#drained !== undefined) {
      if (this.#open.size === 0) this.#drained()
      return
    }
    while (this.#mode === 'running' && this.#open.size < this.#prefetch) {
      const entry = this.#lines.ready
      if (entry?.delivery === undefined || !this.#mayRun(entry)) return
      entry.state = 'open'
      this.#lines.look(entry.key)
      this.#open.set(entry.delivery, entry)
      this.#deliver(entry.delivery)
    }
  }

  /** A stray runs alone: should the process die, it is known which one it was. */
  #mayRun(entry: Entry): boolean {
    if (this.#open.size === 0) return true
    const [[, first] = []] = this.#open
    return !entry.isStray && first?.isStray !== true
  }
}

/** Events without a key wait for nobody: each has a line of its own. */
const keyless = (place: number) => `place ${place}`
const keyed = (key: string) => `key ${key}`

function headerOf({ properties }: AmqpMessage, name: string): string | undefined {
  return textOf(properties.headers?.[name])
}
