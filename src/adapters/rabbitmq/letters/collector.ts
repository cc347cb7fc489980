import type { DeadLetter, Origin } from '../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { BrokerClosedError, type QueueDepth } from '../../../ports/broker.ts'
import { type Cancel, within } from '../../../ports/clock.ts'
import type { Collector, WayBack } from '../../../ports/collector.ts'
import type { DeadLetterStore } from '../../../ports/dead-letters.ts'
import { depthsOf } from '../broker/topology/declare.ts'
import { CLOSE_MS, Link } from '../connection/link.ts'
import { Publisher } from '../connection/publisher.ts'
import { Drain } from './drain.ts'
import { unkeptHeaders } from './kept-headers.ts'
import { type CollectorOptions, type CollectorSettings, resolveCollector } from './options.ts'
import { peekAt } from './peek.ts'
import { presumeHandled } from './presumed.ts'
import { findQueues } from './queues.ts'
import { returned } from './returning.ts'
import { Saver } from './saver.ts'

const LOOK_FOR_OUTCOMES_MS = 1_000

/** Collects the dead-letter queues of a RabbitMQ server. Nothing is connected until it is started or sends. */
export function rabbitmqCollector(options: CollectorOptions): Collector {
  return new RabbitmqCollector(resolveCollector(options))
}

/** From a start to the next stop. */
interface Run {
  isOver: boolean
}

class RabbitmqCollector implements Collector {
  readonly name: string
  readonly #settings: CollectorSettings
  readonly #collecting: Link
  readonly #returning: Link
  readonly #publisher: Publisher
  readonly #drains = new Map<string, Drain>()
  readonly #timers = new Map<'queues' | 'outcomes', Cancel>()
  readonly #work = new Set<Promise<void>>()
  #run: Run | undefined
  #queues: readonly string[] = []
  /** When the last look began that saw every queue; mode `peek` only. */
  #peekedAt = 0
  /** How many messages of each queue are letters already and still in it. */
  readonly #peeked = new Map<string, number>()
  #closing: Promise<void> | undefined

  constructor(settings: CollectorSettings) {
    this.name = settings.connection.name
    this.#settings = settings
    this.#collecting = new Link(settings.connection, 'consuming')
    this.#returning = new Link(settings.connection, 'publishing')
    this.#publisher = new Publisher(this.#returning, settings.connection)
  }

  start(into: DeadLetterStore): void {
    if (this.#closing !== undefined) throw new BrokerClosedError(this.name)
    if (this.#run !== undefined) return
    const run: Run = { isOver: false }
    this.#run = run
    const saver = new Saver(this.#settings, into)
    this.#every(run, 'queues', this.#settings.lookEveryMs, () => this.#look(run, saver))
    this.#every(run, 'outcomes', LOOK_FOR_OUTCOMES_MS, () => this.#lookForOutcomes(into))
  }

  async stop(): Promise<void> {
    if (this.#run === undefined) return
    this.#run.isOver = true
    this.#run = undefined
    for (const cancel of this.#timers.values()) cancel()
    const drains = [...this.#drains.values()]
    this.#drains.clear()
    this.#peeked.clear()
    await Promise.all(drains.map(drain => drain.close()))
    // Before their connection goes: a channel that closes at the same time is never heard of again.
    await within(this.#settings.connection.clock, CLOSE_MS, Promise.all(this.#work))
  }

  async send(events: readonly LazaretEvent[], origin: Origin): Promise<void> {
    if (this.#closing !== undefined) throw new BrokerClosedError(this.name)
    const { returnTo } = this.#settings
    for (const event of events) await this.#publisher.sendOne(returned(event, origin, returnTo))
  }

  /** A message that could not be sent back as it was is not sent back at all; to another channel it may go. */
  wayBack({ origin }: Pick<DeadLetter, 'origin'>, to: string | undefined): WayBack {
    const fault = to === undefined ? unkeptHeaders(origin) : undefined
    return fault === undefined ? { kind: 'durable', via: this.name } : { kind: 'none', why: fault }
  }

  async depths(): Promise<readonly QueueDepth[]> {
    if (this.#closing !== undefined) throw new BrokerClosedError(this.name)
    const connection = await this.#collecting.get(this.#settings.connection.connectTimeoutMs)
    const depths = await depthsOf(connection, await this.#queuesNow())
    return depths.map(({ queue, depth }) => ({
      queue,
      depth: Math.max(0, depth - (this.#peeked.get(queue) ?? 0)),
    }))
  }

  /**
   * Whoever stands by has not looked for queues yet. Of those that are only looked into it does not know how much of them
   * is letters already, so it says nothing of them.
   */
  async #queuesNow(): Promise<readonly string[]> {
    if (this.#run !== undefined) return this.#queues
    return this.#settings.mode === 'peek' ? [] : await findQueues(this.#settings)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.stop()
    await Promise.all([this.#collecting.close(), this.#returning.close()])
  }

  /** At once, and again so long after it has ended, until the run is over. */
  #every(run: Run, name: 'queues' | 'outcomes', ms: number, task: () => Promise<void>): void {
    if (run.isOver) return
    const work = task()
      .catch((error: unknown) => {
        if (!run.isOver) this.#settings.onError(error)
      })
      .then(() => {
        this.#work.delete(work)
        if (!run.isOver)
          this.#timers.set(
            name,
            this.#settings.connection.clock.schedule(ms, () => this.#every(run, name, ms, task)),
          )
      })
    this.#work.add(work)
  }

  async #look(run: Run, saver: Saver): Promise<void> {
    this.#queues = await findQueues(this.#settings)
    if (run.isOver) return
    if (this.#settings.mode === 'peek') await this.#peek(saver)
    else await this.#drain(saver)
  }

  async #drain(saver: Saver): Promise<void> {
    for (const queue of this.#queues)
      if (!this.#drains.has(queue))
        this.#drains.set(queue, new Drain(queue, this.#settings, this.#collecting, saver))
    for (const [queue, drain] of this.#drains) {
      if (this.#queues.includes(queue)) continue
      this.#drains.delete(queue)
      await drain.close()
    }
  }

  async #peek(saver: Saver): Promise<void> {
    const { connection, peekLimit } = this.#settings
    const beganAt = connection.clock.now()
    const server = await this.#collecting.get(connection.connectTimeoutMs)
    for (const queue of this.#queues) this.#peeked.set(queue, await peekAt(server, queue, peekLimit, saver))
    this.#peekedAt = beganAt
  }

  async #lookForOutcomes(store: DeadLetterStore): Promise<void> {
    const seenUpTo = this.#seenUpTo()
    if (seenUpTo !== undefined) await presumeHandled(store, this.#settings, seenUpTo)
  }

  /** While something is on its way into the store, nobody knows whether it is what was sent. */
  #seenUpTo(): number | undefined {
    if (this.#settings.mode === 'peek') return this.#peekedAt
    const drains = [...this.#drains.values()]
    const isCaughtUp = drains.length > 0 && drains.every(drain => drain.isCaughtUp)
    return isCaughtUp ? this.#settings.connection.clock.now() : undefined
  }
}
