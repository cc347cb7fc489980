import { resolveNotReturned } from '../../../adapter-kit/collecting/not-returned.ts'
import { PendingWork } from '../../../adapter-kit/pending-work.ts'
import type { DeadLetter, Origin } from '../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { BrokerClosedError, type QueueDepth } from '../../../ports/broker.ts'
import { type Cancel, settlesWithin } from '../../../ports/clock.ts'
import type { Collector, ReplayRoute } from '../../../ports/collector.ts'
import type { DeadLetterStore } from '../../../ports/dead-letters.ts'
import { depthsOf, onChannel } from '../broker/topology/declare.ts'
import type { AmqpConnection, AmqpMessage } from '../connection/amqp.ts'
import { CLOSE_MS, Link } from '../connection/link.ts'
import { Publisher } from '../connection/publisher.ts'
import { Drain } from './drain.ts'
import { type CollectorOptions, type CollectorSettings, resolveCollector } from './options.ts'
import { findQueues } from './queues.ts'
import { returned, unkeptHeaders } from './returned-message.ts'
import { Saver } from './saver.ts'

const OUTCOME_POLL_MS = 1_000

/** Collects the dead-letter queues of a RabbitMQ server. Nothing is connected until it is started or sends. */
export function rabbitmqCollector(options: CollectorOptions): Collector {
  return new RabbitmqCollector(resolveCollector(options))
}

/** The work between a start and the next stop. */
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
  readonly #work = new PendingWork()
  #run: Run | undefined
  #queues: readonly string[] = []
  /** The start of the last round that read every queue; for mode `peek` only. */
  #peekedAt = 0
  /** The number of messages of each queue that are letters already and still in the queue. */
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
    void this.#every(run, 'queues', this.#settings.pollIntervalMs, () => this.#look(run, saver))
    void this.#every(run, 'outcomes', OUTCOME_POLL_MS, () => this.#resolveOutcomes(into))
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
    // The channels close before their connection: a channel that closes at the same time never reports its end.
    await settlesWithin(this.#settings.connection.clock, CLOSE_MS, this.#work.settled())
  }

  async send(events: readonly LazaretEvent[], origin: Origin): Promise<void> {
    if (this.#closing !== undefined) throw new BrokerClosedError(this.name)
    const { returnTo } = this.#settings
    for (const event of events) await this.#publisher.sendOne(returned(event, origin, returnTo))
  }

  /** A message that could not be sent back as it was is not sent back at all; to another channel it may go. */
  routeOf({ origin }: Pick<DeadLetter, 'origin'>, to: string | undefined): ReplayRoute {
    const fault = to === undefined ? unkeptHeaders(origin) : undefined
    return fault === undefined ? { kind: 'durable', via: this.name } : { kind: 'none', reason: fault }
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
   * A standby collector has not searched for queues yet. It cannot know how many messages of a queue that is only read
   * are letters already, so it leaves such queues out.
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

  /** Runs the task at once, and again after each pause, until the run ends. */
  async #every(run: Run, name: 'queues' | 'outcomes', ms: number, task: () => Promise<void>): Promise<void> {
    this.#work.begin()
    try {
      await task()
    } catch (error) {
      if (!run.isOver) this.#settings.onError(error)
    } finally {
      this.#work.end()
    }
    const again = () => void this.#every(run, name, ms, task)
    if (!run.isOver) this.#timers.set(name, this.#settings.connection.clock.schedule(ms, again))
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
    for (const queue of this.#queues)
      this.#peeked.set(queue, await peekQueue(server, queue, peekLimit, saver))
    this.#peekedAt = beganAt
  }

  async #resolveOutcomes(store: DeadLetterStore): Promise<void> {
    const seenUpTo = this.#seenUpTo()
    if (seenUpTo === undefined) return
    const { handledAfterMs, connection } = this.#settings
    const { clock } = connection
    await resolveNotReturned(store, { broker: this.name, handledAfterMs, seenUpTo, clock })
  }

  /** The time up to which all returned messages are saved; undefined while a message is being saved. */
  #seenUpTo(): number | undefined {
    if (this.#settings.mode === 'peek') return this.#peekedAt
    const drains = [...this.#drains.values()]
    const isCaughtUp = drains.length > 0 && drains.every(drain => drain.isCaughtUp)
    return isCaughtUp ? this.#settings.connection.clock.now() : undefined
  }
}

/**
 * Reads the first messages of a queue. The channel holds them while they are saved, and returns them when it closes.
 * Several readers of one queue, or a consumer at its head, may change the order.
 */
async function peekQueue(
  connection: AmqpConnection,
  queue: string,
  limit: number,
  saver: Saver,
): Promise<number> {
  let isOpen = true
  try {
    return await onChannel(connection, async channel => {
      channel.on('close', () => {
        isOpen = false
      })
      const held: AmqpMessage[] = []
      while (held.length < limit) {
        const message = await channel.get(queue)
        if (message === false) break
        held.push(message)
      }
      await Promise.all(held.map(message => saver.save(message, queue, () => isOpen)))
      return held.length
    })
  } finally {
    isOpen = false
  }
}
