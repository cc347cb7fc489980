import type { Cancel } from '../../../ports/clock.ts'
import { rest, within } from '../../../ports/waiting.ts'
import type { AmqpConnection, AmqpMessage } from '../amqp.ts'
import { Session } from '../consume/session.ts'
import type { Link } from '../link/link.ts'
import type { Publisher } from '../link/publisher.ts'
import type { RabbitmqSettings } from '../options.ts'
import { inspect } from '../topology/declare.ts'
import { heldQueue, ownerQueue } from '../topology/names.ts'
import { CLOSE_MS } from '../waiting.ts'

/** What comes to the one who keeps the order. */
export interface KeeperListener {
  /** The order is ours to keep; these were held by the one before. */
  own(session: Session, held: readonly AmqpMessage[]): void
  held(session: Session, message: AmqpMessage): void
  receive(session: Session, message: AmqpMessage): void
  lose(session: Session): void
}

const POLL_MS = 50
const REST_MS = 100
const LOAD_MS = 5_000
/** The server ends a channel that keeps a delivery for half an hour. */
export const REFRESH_MS = 600_000
const NO_LIMIT = 0

/**
 * Of all who subscribe in order, one at a time keeps it: the server gives the token of the owner queue to a single
 * consumer, and to the next one when that is gone. All that the owner holds is on one channel with the token, so that it
 * loses all of it at once. It begins when nobody else consumes any more.
 */
export class Keeper {
  readonly #settings: RabbitmqSettings
  readonly #link: Link
  readonly #publisher: Publisher
  readonly #queue: string
  readonly #window: number
  readonly #listener: KeeperListener
  /** Declares again what somebody may have deleted. */
  readonly #restore: () => Promise<void>
  #session: Session | undefined
  #token: AmqpMessage | undefined
  #isClosed = false
  #stopRefreshing: Cancel = () => {}

  constructor(
    settings: RabbitmqSettings,
    links: { readonly consuming: Link; readonly publisher: Publisher },
    queue: string,
    window: number,
    listener: KeeperListener,
    restore: () => Promise<void>,
  ) {
    this.#settings = settings
    this.#link = links.consuming
    this.#publisher = links.publisher
    this.#queue = queue
    this.#window = window
    this.#listener = listener
    this.#restore = restore
  }

  /** The first time it fails instead of trying on: whoever starts wants to know. */
  async open(): Promise<void> {
    const connection = await this.#link.get(this.#settings.connectTimeoutMs)
    const session = await Session.open(connection, lost => this.#lost(lost))
    this.#session = session
    this.#token = undefined
    try {
      await this.#sendToken()
      await session.listen(ownerQueue(this.#queue), NO_LIMIT, message => {
        if (message === null) void this.#giveUp(session)
        else this.#receiveToken(connection, session, message)
      })
    } catch (error) {
      this.#session = undefined
      await session.close()
      throw error
    }
    this.#refresh()
  }

  async close(drainMs: number): Promise<void> {
    this.#isClosed = true
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
    const held = heldQueue(this.#queue)
    while (session.isOpen && !(await this.#isLeft(connection))) await rest(clock, POLL_MS)
    const count = (await inspect(connection, held))?.messageCount ?? 0
    const found: AmqpMessage[] = []
    let isLoaded = false
    let loaded = () => {}
    const loading = new Promise<void>(resolve => {
      loaded = resolve
    })
    await session.listen(held, NO_LIMIT, message => {
      if (message === null) void this.#giveUp(session)
      else if (isLoaded) this.#listener.held(session, message)
      else if (found.push(message) >= count) loaded()
    })
    if (count > found.length) await within(clock, LOAD_MS, loading)
    if (!session.isOpen || this.#isClosed) return
    isLoaded = true
    this.#listener.own(session, found)
    await session.listen(this.#queue, this.#window, message => {
      if (message === null) void this.#giveUp(session)
      else this.#listener.receive(session, message)
    })
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
      await this.#restore()
      await this.open()
      return true
    } catch {
      return false
    }
  }

  async #sendToken(): Promise<void> {
    await this.#publisher.sendOne({
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
