import type { StallReporter } from '../../../../adapter-kit/delivery/stalls.ts'
import { about, type Cancel, rest, within } from '../../../../ports/clock.ts'
import type { AmqpConnection, AmqpMessage } from '../../connection/amqp.ts'
import type { Link } from '../../connection/link.ts'
import { CLOSE_MS } from '../../connection/waiting.ts'
import { explainRefusal } from '../../errors.ts'
import type { RabbitmqSettings } from '../../options.ts'
import { DeliveryWatch } from './delivery-watch.ts'
import { type Flow, Session } from './session.ts'
import { Watch } from './watch.ts'

/** What a tap tells of. */
export interface TapListener {
  receive(session: Session, message: AmqpMessage, isSuspect: boolean): void
  /** Told before anything else comes, and every now and then while it does. */
  suspectsWait(): void
  lose(session: Session): void
  /** What flows is what is wanted, again. */
  turned(): void
  /** The queue is not there any more, or was never: sees to it that it is. */
  restore(): Promise<void>
  /** Sees to it that the queue gets what is published, should somebody have deleted what it is bound to. */
  bind(): Promise<void>
}

const FIRST_REST_MS = 100
const LONGEST_REST_MS = 15_000
/** A quorum queue puts back what was acknowledged right before its channel closed: it needs this long to note it. */
const NOTE_MS = 300

/**
 * Keeps a queue flowing: opens a channel on every new connection, consumes what it is turned to and cancels when it is
 * turned off. What is wanted and what is so are brought together by one loop, so that turning it on and off in quick
 * succession can never end up with two consumers.
 */
export class Tap {
  readonly #settings: RabbitmqSettings
  readonly #link: Link
  readonly #queue: string
  readonly #prefetch: number
  readonly #listener: TapListener
  readonly #stalls: StallReporter
  readonly #deliveries: DeliveryWatch
  /** Channels that take nothing more and are closed when what came on them is settled. */
  readonly #retired = new Set<Session>()
  /** Tries in a row that have failed. */
  #failures = 0
  #stopListening: Cancel = () => {}
  #session: Session | undefined
  readonly #watch: Watch
  #wanted: Flow | 'closed' = 'none'
  #running: Promise<void> | undefined
  #restMs = FIRST_REST_MS
  #isQueueGone = false

  constructor(
    settings: RabbitmqSettings,
    link: Link,
    queue: string,
    prefetch: number,
    listener: TapListener,
    stalls: StallReporter,
  ) {
    this.#settings = settings
    this.#link = link
    this.#queue = queue
    this.#prefetch = prefetch
    this.#listener = listener
    this.#stalls = stalls
    this.#deliveries = new DeliveryWatch(queue, stalls, () => listener.bind())
    this.#watch = new Watch(settings.clock, () => this.#look())
  }

  /** The first time it fails instead of trying on: whoever starts wants to know. */
  async open(): Promise<void> {
    const session = await this.#openOn(await this.#link.get(this.#settings.connectTimeoutMs))
    await session.requireQueues(this.#queue)
    this.#stopListening = this.#link.onUp(() => void this.#run())
  }

  turn(wanted: Flow): Promise<void> {
    if (this.#wanted === 'closed') return Promise.resolve()
    this.#wanted = wanted
    return this.#run()
  }

  /** Sends acknowledgements that wait. True when there were some lately that the server may still be noting. */
  flush(): boolean {
    const session = this.#session
    if (session === undefined) return false
    session.acks.flush()
    return session.isOpen && session.acks.sent > 0 && this.#settings.queueType === 'quorum'
  }

  async close(): Promise<void> {
    this.#wanted = 'closed'
    this.#watch.stop()
    this.#stopListening()
    const sessions = [...this.#retired, ...(this.#session === undefined ? [] : [this.#session])]
    await within(this.#settings.clock, CLOSE_MS, Promise.all(sessions.map(session => session.close())))
  }

  #run(): Promise<void> {
    if (this.#running === undefined && this.isAsWanted) return Promise.resolve()
    this.#running ??= this.#loop()
    return this.#running
  }

  async #loop(): Promise<void> {
    while (!this.isAsWanted) {
      try {
        await this.#step()
        this.#restMs = FIRST_REST_MS
        this.#failures = 0
        this.#stalls.gaveUp('deliveries', this)
      } catch (error) {
        // Off and without a connection there is nothing to be done; on, it is tried until it works.
        if (this.#wanted === 'none') break
        if (++this.#failures > 1) this.#tellOf(error)
        await this.#rest()
      }
    }
    // In the same breath: whoever turns it now starts a loop of its own.
    this.#running = undefined
    if (this.#wanted !== 'closed') this.#listener.turned()
  }

  get isAsWanted(): boolean {
    const flow = this.#session?.isOpen ? this.#session.flow : 'none'
    return this.#wanted === 'closed' || this.#wanted === flow
  }

  async #step(): Promise<void> {
    const wanted = this.#wanted
    this.#watch.stop()
    if (wanted === 'none' || wanted === 'closed') {
      await this.#session?.cancel()
      return
    }
    const connection = await this.#link.get(this.#settings.connectTimeoutMs)
    if (this.#isQueueGone) {
      await this.#listener.restore()
      this.#isQueueGone = false
    }
    const session = this.#session?.isOpen ? this.#session : await this.#openOn(connection)
    if (wanted === 'queue') await this.#lookForSuspects()
    // Much may have happened while it was waited for.
    if (this.#isClosed()) await session.close()
    if (this.#wanted !== wanted) return
    if (wanted === 'queue') this.#watch.start()
    await session.consume(wanted, this.#queue, this.#prefetch, (from, message, isSuspect) => {
      if (!isSuspect) this.#deliveries.arrived()
      if (message === null) this.#queueGone(from)
      else this.#listener.receive(from, message, isSuspect)
    })
  }

  #isClosed(): boolean {
    return this.#wanted === 'closed'
  }

  async #look(): Promise<void> {
    await this.#lookForSuspects()
    await this.#lookForProgress()
  }

  async #lookForProgress(): Promise<void> {
    const session = this.#session
    if (!session?.isOpen || session.flow !== 'queue') return
    const isStalled = await this.#deliveries.isStalled(session)
    if (isStalled && this.#session === session) this.#reopen(session)
  }

  #reopen(session: Session): void {
    this.#deliveries.tell()
    this.#isQueueGone = true
    this.#session = undefined
    this.#retired.add(session)
    void session.retire(() => void this.#closeRetired(session)).then(() => this.#run())
  }

  async #closeRetired(session: Session): Promise<void> {
    session.acks.flush()
    await rest(this.#settings.clock, NOTE_MS)
    this.#retired.delete(session)
    await session.close()
  }

  #tellOf(error: unknown): void {
    this.#stalls.stalled('deliveries', this, explainRefusal(this.#link.server, error))
  }

  async #lookForSuspects(): Promise<void> {
    const session = this.#session
    if (session?.isOpen && (await session.countSuspects(this.#queue)) > 0) this.#listener.suspectsWait()
  }

  async #openOn(connection: AmqpConnection): Promise<Session> {
    const session = await Session.open(connection, lost => {
      this.#isQueueGone ||= lost.missedItsQueue
      this.#retired.delete(lost)
      this.#listener.lose(lost)
      if (this.#session === lost) void this.#run()
    })
    this.#session = session
    return session
  }

  #queueGone(session: Session): void {
    this.#isQueueGone = true
    this.#listener.lose(session)
    void session.close().then(() => this.#run())
  }

  async #rest(): Promise<void> {
    const { clock, random } = this.#settings
    const restMs = this.#restMs
    this.#restMs = Math.min(LONGEST_REST_MS, restMs * 2)
    await rest(clock, about(random, restMs))
  }
}
