import { NotCollectedError } from '../../../adapter-kit/collecting/errors.ts'
import { StallReporter } from '../../../adapter-kit/delivery/stalls.ts'
import { PendingWork } from '../../../adapter-kit/pending-work.ts'
import { settlesWithin } from '../../../ports/clock.ts'
import { ConsumerChannel } from '../broker/consume/consumer-channel.ts'
import { PollTimer, type PrefetchWindow, StallDetector } from '../broker/consume/stall-detector.ts'
import type { AmqpMessage } from '../connection/amqp.ts'
import { CLOSE_MS, type Link } from '../connection/link.ts'
import type { CollectorSettings } from './options.ts'
import type { Saver } from './saver.ts'

const FIRST_BACKOFF_MS = 200
const MAX_BACKOFF_MS = 15_000
const NOT_FOUND = 404

/**
 * Takes messages out of one queue, for as long as it is open: saved, then acknowledged. It comes back by itself when the
 * connection does, or the queue.
 */
export class Drain {
  readonly queue: string
  readonly #settings: CollectorSettings
  readonly #link: Link
  readonly #saver: Saver
  readonly #running: Promise<void>
  readonly #saving = new PendingWork()
  readonly #deliveries: StallDetector
  readonly #pollTimer: PollTimer
  #channel: ConsumerChannel | undefined
  /** The prefetch window of the current channel, once the server delivers on it. */
  #window: PrefetchWindow | undefined
  #isClosed = false
  /** The current problem. It is reported once for as long as it lasts. */
  #problem: (Error & { readonly code?: unknown }) | undefined
  #wake: () => void = () => {}

  constructor(queue: string, settings: CollectorSettings, link: Link, saver: Saver) {
    this.queue = queue
    this.#settings = settings
    this.#link = link
    this.#saver = saver
    const stalls = new StallReporter(news => {
      if (news.state === 'stalled') settings.onError(this.#notCollected(news.error))
    })
    this.#deliveries = new StallDetector(queue, stalls)
    this.#pollTimer = new PollTimer(settings.connection.clock, () => this.#look())
    this.#running = this.#run()
  }

  /** Whether every received message is saved, and the server can deliver the next. A missing queue contains nothing. */
  get isCaughtUp(): boolean {
    const isConsuming = this.#channel?.isOpen && this.#window !== undefined
    return (isConsuming || this.#problem?.code === NOT_FOUND) && this.#saving.count === 0
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#pollTimer.stop()
    this.#wake()
    const { clock } = this.#settings.connection
    const channel = this.#channel
    if (channel?.isOpen) {
      await settlesWithin(clock, CLOSE_MS, channel.cancel())
      await settlesWithin(clock, CLOSE_MS, this.#saving.settled())
      await channel.flush(clock, 'quorum')
      await settlesWithin(clock, CLOSE_MS, channel.close())
    }
    await settlesWithin(clock, CLOSE_MS, this.#running)
  }

  async #run(): Promise<void> {
    let restMs = FIRST_BACKOFF_MS
    while (!this.#isClosed) {
      try {
        await this.#consume(() => {
          this.#problem = undefined
          restMs = FIRST_BACKOFF_MS
          if (!this.#isClosed) this.#pollTimer.start()
        })
      } catch (error) {
        this.#tell(error as Error)
      }
      this.#pollTimer.stop()
      if (!this.#isClosed) await this.#rest(restMs)
      restMs = Math.min(MAX_BACKOFF_MS, restMs * 2)
    }
  }

  /** Consumes on a new channel, and resolves when that channel has ended. Calls `started` once the server delivers. */
  async #consume(started: () => void): Promise<void> {
    const { connection, prefetch } = this.#settings
    const channel = await ConsumerChannel.open(await this.#link.get(connection.connectTimeoutMs))
    // This comes before consuming, so that a close in between also closes this channel.
    this.#channel = channel
    this.#window = undefined
    if (this.#isClosed) await channel.close()
    else {
      this.#window = await channel.consume(this.queue, prefetch, message => this.#receive(channel, message))
      started()
    }
    await channel.ended
  }

  /** A message that is being saved is delivered again on the next channel, and becomes the same letter. */
  async #look(): Promise<void> {
    const channel = this.#channel
    if (!channel?.isOpen) return
    const isStalled = await this.#deliveries.isStalled(this.#window?.hasRoom === true, channel.countReady)
    if (!isStalled || this.#isClosed) return
    this.#deliveries.report()
    await channel.close()
  }

  #receive(channel: ConsumerChannel, message: AmqpMessage | null): void {
    this.#deliveries.arrived()
    // The queue was deleted.
    if (message === null) void channel.close()
    else void this.#save(channel, message)
  }

  async #save(channel: ConsumerChannel, message: AmqpMessage): Promise<void> {
    this.#saving.begin()
    try {
      const isSaved = await this.#saver.save(message, this.queue, () => channel.isOpen)
      if (isSaved) channel.settled(message)
    } catch (bug) {
      // A mistake of our own. The message is not acknowledged, so it comes again on the next channel.
      this.#settings.onError(bug)
    } finally {
      this.#saving.end()
    }
  }

  #tell(problem: Error): void {
    const isNew = this.#problem === undefined && !this.#isClosed
    this.#problem = problem
    if (isNew) this.#settings.onError(this.#notCollected(problem))
  }

  #notCollected(problem: Error): NotCollectedError {
    return new NotCollectedError(`collecting queue '${this.queue}'`, problem)
  }

  #rest(ms: number): Promise<void> {
    return new Promise(resolve => {
      const cancel = this.#settings.connection.clock.schedule(ms, resolve)
      this.#wake = () => {
        cancel()
        resolve()
      }
    })
  }
}
