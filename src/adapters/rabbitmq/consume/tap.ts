import type { Cancel } from '../../../ports/clock.ts'
import { about, rest, within } from '../../../ports/waiting.ts'
import type { AmqpConnection, AmqpMessage } from '../amqp.ts'
import type { Link } from '../link/link.ts'
import type { RabbitmqSettings } from '../options.ts'
import { CLOSE_MS } from '../waiting.ts'
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
}

const FIRST_REST_MS = 100
const LONGEST_REST_MS = 15_000

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
  ) {
    this.#settings = settings
    this.#link = link
    this.#queue = queue
    this.#prefetch = prefetch
    this.#listener = listener
    this.#watch = new Watch(settings.clock, () => this.#lookForSuspects())
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
    if (this.#session !== undefined) await within(this.#settings.clock, CLOSE_MS, this.#session.close())
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
      } catch {
        // Off and without a connection there is nothing to be done; on, it is tried until it works.
        if (this.#wanted === 'none') break
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
      if (message === null) this.#queueGone(from)
      else this.#listener.receive(from, message, isSuspect)
    })
  }

  #isClosed(): boolean {
    return this.#wanted === 'closed'
  }

  async #lookForSuspects(): Promise<void> {
    const session = this.#session
    if (session?.isOpen && (await session.countSuspects(this.#queue)) > 0) this.#listener.suspectsWait()
  }

  async #openOn(connection: AmqpConnection): Promise<Session> {
    const session = await Session.open(connection, lost => {
      this.#isQueueGone ||= lost.missedItsQueue
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
