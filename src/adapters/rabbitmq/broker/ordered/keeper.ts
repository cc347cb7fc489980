import type { StallReporter } from '../../../../adapter-kit/delivery/stalls.ts'
import { type Cancel, rest, within } from '../../../../ports/clock.ts'
import type { AmqpConnection, AmqpMessage } from '../../connection/amqp.ts'
import type { Link } from '../../connection/link.ts'
import type { Publisher } from '../../connection/publisher.ts'
import { CLOSE_MS } from '../../connection/waiting.ts'
import { explainRefusal } from '../../errors.ts'
import type { RabbitmqSettings } from '../../options.ts'
import { DeliveryWatch } from '../consume/delivery-watch.ts'
import type { PrefetchWindow } from '../consume/prefetch-window.ts'
import { Session } from '../consume/session.ts'
import { Watch } from '../consume/watch.ts'
import { inspect } from '../topology/declare.ts'
import { heldQueue, ownerQueue } from '../topology/names.ts'

/** What comes to the one who keeps the order. */
export interface KeeperListener {
  /** The order is ours to keep; these were held by the one before. */
  own(session: Session, held: readonly AmqpMessage[]): void
  held(session: Session, message: AmqpMessage): void
  receive(session: Session, message: AmqpMessage): void
  /** Hands nothing more over until the next owning. Resolves when all that was handed over is settled. */
  drain(): Promise<void>
  lose(session: Session): void
}

/** What a keeper works with. */
interface KeeperParts {
  readonly link: Link
  readonly publisher: Publisher
  readonly stalls: StallReporter
  /** Declares again what somebody may have deleted. */
  restore(): Promise<void>
  /** Sees to it that the queue gets what is published. */
  bind(): Promise<void>
}

const POLL_MS = 50
const REST_MS = 100
const LOAD_MS = 5_000
/** The server ends a channel that keeps a delivery for half an hour. */
export const REFRESH_MS = 600_000
const NO_LIMIT = 0
/** How long a channel that delivers nothing is kept for what is being handled: a slow handler must not stop everything. */
const MOST_DRAINING_MS = 5_000
/** A quorum queue puts back what was acknowledged right before its channel closed: it needs this long to note it. */
const NOTE_MS = 300

/**
 * Of all who subscribe in order, one at a time keeps it: the server gives the token of the owner queue to a single
 * consumer, and to the next one when that is gone. All that the owner holds is on one channel with the token, so that it
 * loses all of it at once. It begins when nobody else consumes any more.
 *
 * A queue that has messages for it and delivers none costs the whole channel: the order could not be kept on two. What waits
 * behind others of its key is on the channel already and is no reason, nor is a window that is full of such.
 */
export class Keeper {
  readonly #settings: RabbitmqSettings
  readonly #parts: KeeperParts
  readonly #queue: string
  readonly #window: number
  readonly #listener: KeeperListener
  readonly #watch: Watch
  readonly #deliveries: Readonly<Record<'owner' | 'held' | 'queue', DeliveryWatch>>
  /** What is consumed on the channel of now. */
  readonly #consumed = new Map<DeliveryWatch, PrefetchWindow>()
  /** Tries in a row that have failed. */
  #failures = 0
  #session: Session | undefined
  #token: AmqpMessage | undefined
  #isClosed = false
  #stopRefreshing: Cancel = () => {}

  constructor(
    settings: RabbitmqSettings,
    parts: KeeperParts,
    queue: string,
    window: number,
    listener: KeeperListener,
  ) {
    this.#settings = settings
    this.#parts = parts
    this.#queue = queue
    this.#window = window
    this.#listener = listener
    const { stalls } = parts
    this.#deliveries = {
      owner: new DeliveryWatch(ownerQueue(queue), stalls),
      held: new DeliveryWatch(heldQueue(queue), stalls),
      queue: new DeliveryWatch(queue, stalls, () => parts.bind()),
    }
    this.#watch = new Watch(settings.clock, () => this.#look())
  }

  /** The first time it fails instead of trying on: whoever starts wants to know. */
  async open(): Promise<void> {
    const connection = await this.#parts.link.get(this.#settings.connectTimeoutMs)
    const session = await Session.open(connection, lost => this.#lost(lost))
    this.#session = session
    this.#token = undefined
    this.#consumed.clear()
    try {
      await this.#sendToken()
      await this.#consume(session, this.#deliveries.owner, NO_LIMIT, message =>
        this.#receiveToken(connection, session, message),
      )
    } catch (error) {
      this.#session = undefined
      await session.close()
      throw error
    }
    this.#refresh()
    this.#watch.start()
  }

  async close(drainMs: number): Promise<void> {
    this.#isClosed = true
    this.#watch.stop()
    this.#stopRefreshing()
    const session = this.#session
    if (session === undefined) return
    await within(this.#settings.clock, CLOSE_MS, session.cancel())
    session.acks.flush()
    if (session.isOpen && session.acks.sent > 0 && this.#settings.queueType === 'quorum')
      await rest(this.#settings.clock, drainMs)
    await within(this.#settings.clock, CLOSE_MS, session.close())
  }

  /** The newest is kept: it is the one that the server has waited for the shortest. */
  #receiveToken(connection: AmqpConnection, session: Session, message: AmqpMessage): void {
    const before = this.#token
    this.#token = message
    if (before !== undefined) session.settled(before)
    else void this.#own(connection, session).catch(() => this.#giveUp(session))
  }

  async #own(connection: AmqpConnection, session: Session): Promise<void> {
    const { clock } = this.#settings
    const { held, queue } = this.#deliveries
    while (session.isOpen && !(await this.#isLeft(connection))) await rest(clock, POLL_MS)
    const count = (await inspect(connection, held.queue))?.messageCount ?? 0
    const found: AmqpMessage[] = []
    let isLoaded = false
    let loaded = () => {}
    const loading = new Promise<void>(resolve => {
      loaded = resolve
    })
    await this.#consume(session, held, NO_LIMIT, message => {
      if (isLoaded) this.#listener.held(session, message)
      else if (found.push(message) >= count) loaded()
    })
    // One that comes after the loading would be taken for a copy too many.
    for (let before = -1; found.length < count && session.isOpen; before = found.length) {
      if (found.length === before) throw held.tell()
      await within(clock, LOAD_MS, loading)
    }
    if (!session.isOpen || this.#isClosed) return
    isLoaded = true
    this.#listener.own(session, found)
    await this.#consume(session, queue, this.#window, message => this.#listener.receive(session, message))
  }

  async #consume(
    session: Session,
    deliveries: DeliveryWatch,
    prefetch: number,
    receive: (message: AmqpMessage) => void,
  ): Promise<void> {
    const window = await session.listen(deliveries.queue, prefetch, message => {
      deliveries.arrived()
      if (message === null) void this.#giveUp(session)
      else receive(message)
    })
    if (this.#session === session) this.#consumed.set(deliveries, window)
  }

  async #look(): Promise<void> {
    const session = this.#session
    if (!session?.isOpen) return
    // Another keeps the order: whether it gets anything is its own to see.
    if (this.#token === undefined)
      for (const each of [this.#deliveries.held, this.#deliveries.queue]) each.end()
    for (const [deliveries, { hasRoom }] of [...this.#consumed]) {
      const countReady = (queue: string) => session.countReady(queue)
      const isStalled = await deliveries.isStalled({ hasRoom, countReady })
      if (this.#session !== session) return
      if (isStalled) {
        deliveries.tell()
        await this.#leave(session)
        return
      }
    }
  }

  /** With as little as possible in hand: what is given back runs again. */
  async #leave(session: Session): Promise<void> {
    const { clock, queueType } = this.#settings
    await within(clock, MOST_DRAINING_MS, this.#listener.drain())
    session.acks.flush()
    if (session.isOpen && session.acks.sent > 0 && queueType === 'quorum') await rest(clock, NOTE_MS)
    if (!this.#isClosed) await this.#giveUp(session)
  }

  /** By the one before: the server has taken back what that one had open. */
  async #isLeft(connection: AmqpConnection): Promise<boolean> {
    for (const name of [this.#queue, heldQueue(this.#queue)])
      if (((await inspect(connection, name))?.consumerCount ?? 0) > 0) return false
    return true
  }

  async #giveUp(session: Session): Promise<void> {
    await session.close()
    this.#lost(session)
  }

  #lost(session: Session): void {
    if (this.#session !== session || this.#isClosed) return
    this.#session = undefined
    this.#watch.stop()
    this.#stopRefreshing()
    this.#listener.lose(session)
    void this.#again()
  }

  async #again(): Promise<void> {
    for (let isOpen = false; !isOpen && !this.#isClosed; ) {
      await rest(this.#settings.clock, REST_MS)
      isOpen = await this.#tryToOpen()
    }
  }

  async #tryToOpen(): Promise<boolean> {
    try {
      await this.#parts.restore()
      await this.open()
      this.#failures = 0
      this.#parts.stalls.gaveUp('deliveries', this)
      return true
    } catch (error) {
      const { stalls, link } = this.#parts
      if (++this.#failures > 1) stalls.stalled('deliveries', this, explainRefusal(link.server, error))
      return false
    }
  }

  async #sendToken(): Promise<void> {
    await this.#parts.publisher.sendOne({
      route: { exchange: '', routingKey: ownerQueue(this.#queue) },
      content: Buffer.alloc(0),
      properties: { deliveryMode: 2 },
    })
  }

  #refresh(): void {
    this.#stopRefreshing = this.#settings.clock.schedule(REFRESH_MS, () => {
      void this.#sendToken().catch(() => {})
      this.#refresh()
    })
  }
}
