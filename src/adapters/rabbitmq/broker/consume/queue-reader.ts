import { type Cancel, delay, equalJitter, settlesWithin } from '../../../../ports/clock.ts'
import type { AmqpConnection, AmqpMessage } from '../../connection/amqp.ts'
import { CLOSE_MS } from '../../connection/link.ts'
import { explainRefusal } from '../../errors.ts'
import { suspectsQueue } from '../topology/names.ts'
import { ConsumerChannel } from './consumer-channel.ts'
import type { SubscriptionContext } from './context.ts'
import { PollTimer, type PrefetchWindow, StallDetector } from './stall-detector.ts'

/** The messages that the consumer requests: those of the queue, its suspects one at a time, or none. */
type ConsumeTarget = 'queue' | 'suspects' | 'none'

interface ReaderListener {
  receive(channel: ConsumerChannel, message: AmqpMessage, isSuspect: boolean): void
  /** Called before anything else comes, and every now and then while it does. */
  suspectsWait(): void
  lose(channel: ConsumerChannel): void
  /** The server delivers from the requested queue again. */
  switched(): void
}

/** A channel, and the queue that it consumes. */
interface Consumption {
  readonly channel: ConsumerChannel
  flow: ConsumeTarget
  window: PrefetchWindow | undefined
}

const FIRST_BACKOFF_MS = 100
const MAX_BACKOFF_MS = 15_000
const ONE_AT_A_TIME = 1

/**
 * Keeps consuming a queue. It opens a channel on every new connection, consumes the requested queue, and cancels when
 * nothing is requested. One loop compares the requested with the actual state, so that fast changes can never lead to two
 * consumers.
 */
export class QueueReader {
  readonly #context: SubscriptionContext
  readonly #listener: ReaderListener
  readonly #deliveries: StallDetector
  readonly #pollTimer: PollTimer
  /** Channels that take nothing more and are closed when what came on them is settled. */
  readonly #retired = new Set<ConsumerChannel>()
  #current: Consumption | undefined
  #wanted: ConsumeTarget | 'closed' = 'none'
  #running: Promise<void> | undefined
  #stopListening: Cancel = () => {}
  #restMs = FIRST_BACKOFF_MS
  /** Tries in a row that have failed. */
  #failures = 0
  #isQueueGone = false

  constructor(context: SubscriptionContext, listener: ReaderListener) {
    this.#context = context
    this.#listener = listener
    const { settings, source, topology } = context
    const bind = () => topology.bind(source.channel, source.handler)
    this.#deliveries = new StallDetector(source.queue, source.stalls, bind)
    this.#pollTimer = new PollTimer(settings.clock, () => this.#look())
  }

  /** The first time it fails instead of trying again: the caller of start wants the error. */
  async open(): Promise<void> {
    const { link, settings, source } = this.#context
    const { channel } = await this.#openOn(await link.get(settings.connectTimeoutMs))
    for (const queue of [source.queue, suspectsQueue(source.queue)]) await channel.countReady(queue)
    this.#stopListening = link.onUp(() => void this.#run())
  }

  switchTo(wanted: ConsumeTarget): Promise<void> {
    if (this.#wanted === 'closed') return Promise.resolve()
    this.#wanted = wanted
    return this.#run()
  }

  async close(): Promise<void> {
    this.#wanted = 'closed'
    this.#pollTimer.stop()
    this.#stopListening()
    const { clock, queueType } = this.#context.settings
    const current = this.#current?.channel
    await current?.flush(clock, queueType)
    const channels = [...this.#retired, ...(current === undefined ? [] : [current])]
    await settlesWithin(clock, CLOSE_MS, Promise.all(channels.map(channel => channel.close())))
  }

  get isAsWanted(): boolean {
    const flow = this.#current?.channel.isOpen ? this.#current.flow : 'none'
    return this.#wanted === 'closed' || this.#wanted === flow
  }

  #run(): Promise<void> {
    if (this.#running === undefined && this.isAsWanted) return Promise.resolve()
    this.#running ??= this.#loop()
    return this.#running
  }

  async #loop(): Promise<void> {
    const { link, settings, source } = this.#context
    while (!this.isAsWanted) {
      try {
        await this.#step()
        this.#restMs = FIRST_BACKOFF_MS
        this.#failures = 0
        source.stalls.ended('deliveries', this)
      } catch (error) {
        // Off and without a connection there is nothing to be done; on, it is tried until it works.
        if (this.#wanted === 'none') break
        if (++this.#failures > 1)
          source.stalls.stalled('deliveries', this, explainRefusal(link.server, error))
        const restMs = this.#restMs
        this.#restMs = Math.min(MAX_BACKOFF_MS, restMs * 2)
        await delay(settings.clock, equalJitter(settings.random, restMs))
      }
    }
    // This runs in the same turn as the last read of the requested state. A later change starts its own loop.
    this.#running = undefined
    if (!this.#isClosed()) this.#listener.switched()
  }

  async #step(): Promise<void> {
    const { link, settings, topology } = this.#context
    const wanted = this.#wanted
    this.#pollTimer.stop()
    if (wanted === 'none' || wanted === 'closed') {
      if (this.#current !== undefined) await cancel(this.#current)
      return
    }
    const connection = await link.get(settings.connectTimeoutMs)
    if (this.#isQueueGone) {
      await topology.restore()
      this.#isQueueGone = false
    }
    const current = this.#current?.channel.isOpen ? this.#current : await this.#openOn(connection)
    if (wanted === 'queue') await this.#lookForSuspects()
    // Much may have happened while it was waited for.
    if (this.#isClosed()) await current.channel.close()
    if (this.#wanted !== wanted) return
    if (wanted === 'queue') this.#pollTimer.start()
    await this.#consume(current, wanted)
  }

  async #consume(current: Consumption, flow: 'queue' | 'suspects'): Promise<void> {
    const { source, prefetch } = this.#context
    const { channel } = current
    const isSuspect = flow === 'suspects'
    const queue = isSuspect ? suspectsQueue(source.queue) : source.queue
    await cancel(current)
    current.window = await channel.consume(queue, isSuspect ? ONE_AT_A_TIME : prefetch, message => {
      if (!isSuspect) this.#deliveries.arrived()
      if (message === null) this.#queueGone(channel)
      else this.#listener.receive(channel, message, isSuspect)
    })
    current.flow = flow
  }

  #isClosed(): boolean {
    return this.#wanted === 'closed'
  }

  async #look(): Promise<void> {
    await this.#lookForSuspects()
    const current = this.#current
    if (!current?.channel.isOpen || current.flow !== 'queue') return
    const hasRoom = current.window?.hasRoom === true
    const isStalled = await this.#deliveries.isStalled(hasRoom, current.channel.countReady)
    if (isStalled && this.#current === current) this.#reopen(current.channel)
  }

  async #lookForSuspects(): Promise<void> {
    const { channel } = this.#current ?? {}
    const suspects = suspectsQueue(this.#context.source.queue)
    if (channel?.isOpen && (await channel.countReady(suspects)) > 0) this.#listener.suspectsWait()
  }

  #reopen(channel: ConsumerChannel): void {
    this.#deliveries.report()
    this.#isQueueGone = true
    this.#current = undefined
    this.#retired.add(channel)
    void channel.retire(() => void this.#closeRetired(channel)).then(() => this.#run())
  }

  async #closeRetired(channel: ConsumerChannel): Promise<void> {
    await channel.flush(this.#context.settings.clock, 'quorum')
    this.#retired.delete(channel)
    await channel.close()
  }

  async #openOn(connection: AmqpConnection): Promise<Consumption> {
    const channel = await ConsumerChannel.open(connection, lost => {
      this.#isQueueGone ||= lost.isQueueMissing
      this.#retired.delete(lost)
      this.#listener.lose(lost)
      if (this.#current?.channel === lost) void this.#run()
    })
    this.#current = { channel, flow: 'none', window: undefined }
    return this.#current
  }

  #queueGone(channel: ConsumerChannel): void {
    this.#isQueueGone = true
    this.#listener.lose(channel)
    void channel.close().then(() => this.#run())
  }
}

/** After the answer of the server no message arrives. */
async function cancel(current: Consumption): Promise<void> {
  await current.channel.cancel()
  current.flow = 'none'
}
