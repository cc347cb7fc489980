import type { AttemptRecord } from '../src/core/dead-letter/letter.ts'
import type { LazaretEvent } from '../src/core/event/event.ts'
import {
  type Broker,
  type BrokerCapabilities,
  type Delivery,
  DeliveryLostError,
  type Settlement,
  type SubscribeOptions,
  type Subscription,
} from '../src/ports/broker.ts'
import { type EventName, nameOf, replayIdOf, replayOf } from './names.ts'
import { FateError, type Process } from './process.ts'

/** A process's connection to the broker of the world. */
export class Connection implements Broker {
  readonly name = 'world'
  readonly capabilities: BrokerCapabilities
  readonly lines: Line[] = []
  readonly #process: Process

  constructor(process: Process) {
    this.#process = process
    const { broker, plan } = process.scene
    this.capabilities = { ...broker.capabilities, delay: plan.brokerDelays }
  }

  async publish(events: readonly LazaretEvent[]): Promise<void> {
    await this.#process.cross('broker', 'publish', () => this.#process.scene.broker.publish(events))
  }

  async subscribe(options: SubscribeOptions, deliver: (delivery: Delivery) => void): Promise<Subscription> {
    const line = new Line(this.#process, options, deliver)
    this.lines.push(line)
    try {
      await this.#process.cross('subscribe', 'subscribe', () => line.open())
      line.answered()
    } catch (error) {
      line.hangUp()
      throw error
    }
    return line
  }

  async letGo(channel: string, eventId: string, handler?: string): Promise<void> {
    const { broker, journal } = this.#process.scene
    await this.#process.cross('broker', 'letGo', () => {
      journal.note({ what: 'letGo', event: eventId, channel, handler })
      return broker.letGo(channel, eventId, handler)
    })
  }

  async close(): Promise<void> {
    for (const line of this.lines) line.hangUp()
  }
}

/**
 * A subscription as a client library keeps it: it outlives the connection. When a call on it fails, the connection is
 * soon found to be broken, the broker takes back what was open, and a new one is made. What was handed over before is
 * then lost to this process, though it may be in the middle of it.
 */
export class Line implements Subscription {
  readonly #process: Process
  readonly #options: SubscribeOptions
  readonly #deliver: (delivery: Delivery) => void
  readonly #numbers = new WeakMap<Delivery, number>()
  #inner: Subscription | undefined
  readonly #early: { readonly inner: Subscription; readonly delivery: Delivery }[] = []
  #isAnswered = false
  #isPaused = false
  #isClosed = false

  constructor(process: Process, options: SubscribeOptions, deliver: (delivery: Delivery) => void) {
    this.#process = process
    this.#options = options
    this.#deliver = deliver
    process.atEnd(() => this.#notice())
  }

  async open(): Promise<void> {
    const { broker } = this.#process.scene
    const inner = await broker.subscribe(this.#options, delivery => this.#arrive(inner, delivery))
    if (this.#isClosed || !this.#process.isAlive) await inner.close()
    else {
      this.#inner = inner
      if (this.#isPaused) inner.pause()
    }
  }

  /** The subscriber knows of its subscription; what was handed over on the way follows. */
  answered(): void {
    this.#process.scene.clock.schedule(0, () => {
      this.#isAnswered = true
      for (const { inner, delivery } of this.#early.splice(0)) this.#handOver(inner, delivery)
    })
  }

  begin(delivery: Delivery, ended: readonly AttemptRecord[]): void | Promise<void> {
    const askedAt = this.#process.takeAsked(this.#options.handler, delivery)
    return this.#call(
      'begin',
      delivery,
      inner => inner.begin(delivery, ended),
      () => this.#process.scene.journal.note({ what: 'begun', ...this.#about(delivery), askedAt }),
    )
  }

  settle(delivery: Delivery, settlement: Settlement): void | Promise<void> {
    const { journal } = this.#process.scene
    const { outcome } = settlement
    if (this.#process.isAlive) journal.note({ what: 'settling', ...this.#about(delivery), outcome })
    const saved = settlement.outcome === 'dead' && settlement.saved
    return this.#call(
      `settle ${outcome}`,
      delivery,
      inner => inner.settle(delivery, settlement),
      () => journal.note({ what: 'settled', ...this.#about(delivery), outcome, saved }),
    )
  }

  pause(): void {
    this.#isPaused = true
    if (this.#process.isAlive) this.#inner?.pause()
  }

  resume(): void {
    this.#isPaused = false
    if (this.#process.isAlive) this.#inner?.resume()
  }

  async close(): Promise<void> {
    await this.#process.cross('broker', 'close', () => this.hangUp())
  }

  hangUp(): void {
    this.#isClosed = true
    void this.#inner?.close()
    this.#inner = undefined
  }

  /** The connection breaks. The broker hands over again what was open on it. */
  lose(): void {
    if (this.#inner === undefined) return
    const { scene, name } = this.#process
    const { handler } = this.#options
    scene.journal.note({ what: 'lost', consumer: `${name}/${handler}`, handler })
    void this.#inner.close()
    this.#inner = undefined
    scene.clock.schedule(scene.faults.delayMs(1_000), () => {
      if (this.#process.isAlive && !this.#isClosed && this.#inner === undefined) void this.open()
    })
  }

  /** It takes a broker a while to find out that a process is gone. */
  #notice(): void {
    const { clock, faults } = this.#process.scene
    clock.schedule(faults.delayMs(faults.isCalm ? 100 : 3_000), () => this.hangUp())
  }

  #call(
    call: string,
    delivery: Delivery,
    act: (inner: Subscription) => void | Promise<void>,
    took: () => void,
  ): void | Promise<void> {
    const { scene } = this.#process
    const result = this.#process.cross('broker', call, () => {
      const acted = this.#inner === undefined ? this.#refuse(delivery) : act(this.#inner)
      return acted === undefined ? took() : acted.then(took)
    })
    if (result === undefined) return
    return result.catch((error: unknown) => {
      if (error instanceof FateError) scene.clock.schedule(scene.faults.delayMs(2_000), () => this.lose())
      throw error
    })
  }

  #refuse(delivery: Delivery): Promise<never> {
    return Promise.reject(new DeliveryLostError('world', delivery.channel))
  }

  #arrive(inner: Subscription, delivery: Delivery): void {
    const { scene } = this.#process
    const fate = scene.faults.fate('delivery')
    if (fate.kind === 'late') scene.clock.schedule(fate.ms, () => this.#handOver(inner, delivery))
    else this.#handOver(inner, delivery)
  }

  #handOver(inner: Subscription, delivery: Delivery): void {
    if (!this.#isAnswered) {
      this.#early.push({ inner, delivery })
      return
    }
    if (!this.#process.isAlive || inner !== this.#inner) return
    const { journal } = this.#process.scene
    this.#numbers.set(delivery, this.#process.scene.nextNumber())
    const { started, ended, content } = delivery
    const replayId = replayIdOf(content)
    journal.note({ what: 'handedOver', ...this.#about(delivery), started, ended, replayId })
    this.#process.guard(() => this.#deliver(delivery))
  }

  #about(delivery: Delivery) {
    const { handler } = this.#options
    const consumer = `${this.#process.name}/${handler}`
    const event: EventName = nameOf(delivery.content)
    return {
      consumer,
      handler,
      event,
      delivery: this.#numbers.get(delivery) ?? 0,
      replay: replayOf(delivery.content),
    }
  }
}
