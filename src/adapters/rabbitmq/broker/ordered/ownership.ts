import { type Cancel, delay, settlesWithin } from '../../../../ports/clock.ts'
import type { AmqpConnection, AmqpMessage } from '../../connection/amqp.ts'
import { CLOSE_MS } from '../../connection/link.ts'
import { explainRefusal } from '../../errors.ts'
import { ConsumerChannel, MAX_PREFETCH } from '../consume/consumer-channel.ts'
import type { SubscriptionContext } from '../consume/context.ts'
import { PollTimer, type PrefetchWindow, StallDetector } from '../consume/stall-detector.ts'
import { inspect } from '../topology/declare.ts'
import { heldQueue, ownerQueue } from '../topology/names.ts'
import { HeldMessages } from './held-messages.ts'

interface OwnerListener {
  /** The order is ours to keep; these were held by the owner before. */
  own(channel: ConsumerChannel, held: HeldMessages): void
  held(channel: ConsumerChannel, message: AmqpMessage): void
  receive(channel: ConsumerChannel, message: AmqpMessage): void
  /** Delivers nothing more until the next `own`. Resolves when all that was delivered is settled. */
  drain(): Promise<void>
  lose(channel: ConsumerChannel): void
}

const POLL_MS = 50
const FIRST_REST_MS = 100
const MAX_REST_MS = 5_000
const LOAD_MS = 5_000
/** The server ends a channel that keeps a delivery for half an hour. */
export const REFRESH_MS = 600_000
const NO_LIMIT = 0
/** How long a channel without deliveries is kept for running handlers. A slow handler must not stop the queue. */
const MAX_DRAINING_MS = 5_000

/**
 * Of all who subscribe in order, one at a time owns the queue: the server gives the token of the owner queue to a single
 * consumer, and to the next one when that is gone. All that the owner has open is on one channel with the token, so that
 * it loses all of it at once. It begins when no other consumer is left.
 *
 * A queue that has messages for the owner and delivers none costs the whole channel: the order could not be kept on
 * two. Messages that wait behind others of their key are on the channel already and do not count, nor does a window
 * that is full of such messages.
 */
export class Ownership {
  readonly #context: SubscriptionContext
  readonly #window: number
  readonly #listener: OwnerListener
  readonly #pollTimer: PollTimer
  readonly #deliveries: Readonly<Record<'owner' | 'held' | 'queue', StallDetector>>
  /** The queues that the current channel consumes. */
  readonly #consumed = new Map<StallDetector, PrefetchWindow>()
  #channel: ConsumerChannel | undefined
  #token: AmqpMessage | undefined
  #isOpeningAgain = false
  /** The order could be taken over, but not kept. */
  #cannotOwn = false
  /** Openings and takeovers in a row that failed. */
  #failures = 0
  #isClosed = false
  #stopRefreshing: Cancel = () => {}

  /** `window` is how many messages of the queue may be unsettled. */
  constructor(context: SubscriptionContext, window: number, listener: OwnerListener) {
    this.#context = context
    this.#window = window
    this.#listener = listener
    const { channel, handler, queue, stalls } = context.source
    this.#deliveries = {
      owner: new StallDetector(ownerQueue(queue), stalls),
      held: new StallDetector(heldQueue(queue), stalls),
      queue: new StallDetector(queue, stalls, () => context.topology.bind(channel, handler)),
    }
    this.#pollTimer = new PollTimer(context.settings.clock, () => this.#look())
  }

  /** The first time it fails instead of trying again: the caller of start wants the error. */
  async open(): Promise<void> {
    const { link, settings, settler, source } = this.#context
    const connection = await link.get(settings.connectTimeoutMs)
    const channel = await ConsumerChannel.open(connection, lost => this.#lost(lost))
    if (this.#isClosed) return await channel.close()
    this.#channel = channel
    this.#token = undefined
    this.#consumed.clear()
    try {
      await settler.sendToken(source.queue)
      await this.#consume(channel, this.#deliveries.owner, NO_LIMIT, message =>
        this.#receiveToken(connection, channel, message),
      )
    } catch (error) {
      if (this.#channel === channel) this.#channel = undefined
      await channel.close()
      throw error
    }
    // It was lost or closed meanwhile.
    if (this.#channel !== channel) return
    this.#refresh()
    this.#pollTimer.start()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#pollTimer.stop()
    this.#stopRefreshing()
    const channel = this.#channel
    this.#channel = undefined
    if (channel === undefined) return
    const { clock, queueType } = this.#context.settings
    await settlesWithin(clock, CLOSE_MS, channel.cancel())
    await channel.flush(clock, queueType)
    await settlesWithin(clock, CLOSE_MS, channel.close())
  }

  /** The newest is kept: it is the one that the server has waited for the shortest. */
  #receiveToken(connection: AmqpConnection, channel: ConsumerChannel, message: AmqpMessage): void {
    const before = this.#token
    this.#token = message
    if (before !== undefined) channel.settled(before)
    else void this.#own(connection, channel).catch(error => this.#cannotKeep(channel, error))
  }

  /** The server closes a channel that it refuses something. A channel that was lost for another reason says nothing. */
  #cannotKeep(channel: ConsumerChannel, error: unknown): Promise<void> {
    if (this.#channel === channel || (error as { readonly code?: unknown }).code !== undefined) {
      this.#cannotOwn = true
      this.#failed(error)
    }
    return this.#giveUp(channel)
  }

  /** The server counts the messages of a queue without a leader as none, so that some were not waited for. */
  loadAgain(channel: ConsumerChannel): void {
    void this.#giveUp(channel)
  }

  async #own(connection: AmqpConnection, channel: ConsumerChannel): Promise<void> {
    const { clock, queueType } = this.#context.settings
    const { held, queue } = this.#deliveries
    while (channel.isOpen && !(await this.#isLeft(connection))) await delay(clock, POLL_MS)
    const count = (await inspect(connection, held.queue))?.messageCount ?? 0
    const found = new HeldMessages(this.#context.source.queue)
    let loaded = 0
    let isLoaded = false
    const loading = Promise.withResolvers<void>()
    // A quorum queue takes no limit for one of 2 000, and gives nothing more while so many keys are blocked.
    const limit = queueType === 'quorum' ? MAX_PREFETCH : NO_LIMIT
    await this.#consume(channel, held, limit, message => {
      if (isLoaded) return this.#listener.held(channel, message)
      for (const settled of found.add(message)) channel.settled(settled)
      if (++loaded >= count) loading.resolve()
    })
    // A message that arrives after the loading would count as a duplicate.
    for (let before = -1; loaded < count && channel.isOpen; before = loaded) {
      if (loaded === before) throw held.report()
      await settlesWithin(clock, LOAD_MS, loading.promise)
    }
    if (!channel.isOpen || this.#isClosed) return
    isLoaded = true
    this.#listener.own(channel, found)
    await this.#consume(channel, queue, this.#window, message => this.#listener.receive(channel, message))
    this.#cannotOwn = false
    this.#worked()
  }

  async #consume(
    channel: ConsumerChannel,
    deliveries: StallDetector,
    prefetch: number,
    receive: (message: AmqpMessage) => void,
  ): Promise<void> {
    const window = await channel.consume(deliveries.queue, prefetch, message => {
      deliveries.arrived()
      if (message === null) void this.#giveUp(channel)
      else receive(message)
    })
    if (this.#channel === channel) this.#consumed.set(deliveries, window)
  }

  async #look(): Promise<void> {
    const channel = this.#channel
    if (!channel?.isOpen) return
    // Another keeps the order: whether it gets anything is its own to see.
    if (this.#token === undefined) {
      for (const each of [this.#deliveries.held, this.#deliveries.queue]) each.end()
      this.#cannotOwn = false
      this.#worked()
    }
    for (const [deliveries, { hasRoom }] of [...this.#consumed]) {
      const isStalled = await deliveries.isStalled(hasRoom, channel.countReady)
      if (this.#channel !== channel) return
      if (isStalled) {
        deliveries.report()
        await this.#leave(channel)
        return
      }
    }
  }

  /** Leaves with as few open messages as possible, because returned messages run again. */
  async #leave(channel: ConsumerChannel): Promise<void> {
    const { clock, queueType } = this.#context.settings
    await settlesWithin(clock, MAX_DRAINING_MS, this.#listener.drain())
    await channel.flush(clock, queueType)
    if (!this.#isClosed) await this.#giveUp(channel)
  }

  /** Whether the server has taken back all open messages of the previous owner. */
  async #isLeft(connection: AmqpConnection): Promise<boolean> {
    for (const { queue } of [this.#deliveries.queue, this.#deliveries.held])
      if (((await inspect(connection, queue))?.consumerCount ?? 0) > 0) return false
    return true
  }

  async #giveUp(channel: ConsumerChannel): Promise<void> {
    await channel.close()
    this.#lost(channel)
  }

  #lost(channel: ConsumerChannel): void {
    if (this.#channel !== channel || this.#isClosed) return
    this.#channel = undefined
    this.#pollTimer.stop()
    this.#stopRefreshing()
    this.#listener.lose(channel)
    if (!this.#isOpeningAgain) void this.#openAgain()
  }

  /** One at a time: of two channels of this process, messages of one could be settled on the other. */
  async #openAgain(): Promise<void> {
    this.#isOpeningAgain = true
    const { settings, source, topology } = this.#context
    while (this.#channel === undefined) {
      await delay(settings.clock, Math.min(MAX_REST_MS, FIRST_REST_MS * 2 ** this.#failures))
      if (this.#isClosed) break
      try {
        await topology.restore()
        await topology.order(source.channel, source.queue)
        await this.open()
        if (!this.#cannotOwn) this.#worked()
      } catch (error) {
        this.#failed(error)
      }
    }
    this.#isOpeningAgain = false
  }

  #worked(): void {
    this.#failures = 0
    this.#context.source.stalls.ended('deliveries', this)
  }

  #failed(error: unknown): void {
    const { link, source } = this.#context
    if (++this.#failures > 1 && !this.#isClosed)
      source.stalls.stalled('deliveries', this, explainRefusal(link.server, error))
  }

  #refresh(): void {
    const { settings, settler, source } = this.#context
    this.#stopRefreshing = settings.clock.schedule(REFRESH_MS, () => {
      void settler.sendToken(source.queue).catch(() => {})
      this.#refresh()
    })
  }
}
