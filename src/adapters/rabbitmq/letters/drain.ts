import { StallReporter } from '../../../adapter-kit/delivery/stalls.ts'
import { rest, within } from '../../../ports/clock.ts'
import { Acks } from '../broker/consume/acks.ts'
import { DeliveryWatch } from '../broker/consume/delivery-watch.ts'
import { PrefetchWindow } from '../broker/consume/prefetch-window.ts'
import { Watch } from '../broker/consume/watch.ts'
import type { AmqpChannel, AmqpConnection, AmqpMessage } from '../connection/amqp.ts'
import { requireOpen } from '../connection/closed-channel.ts'
import type { Link } from '../connection/link.ts'
import { CLOSE_MS } from '../connection/waiting.ts'
import { NotCollectedError } from '../errors.ts'
import type { CollectorSettings } from './options.ts'
import type { Saver } from './saver.ts'

const FIRST_REST_MS = 200
const LONGEST_REST_MS = 15_000
/** A quorum queue puts back what was acknowledged right before its channel closed: it needs this long to note it. */
const NOTE_MS = 300
const NOT_FOUND = 404

/** One channel on the queue, and what came on it. */
interface Stay {
  readonly channel: AmqpChannel
  readonly acks: Acks
  readonly window: PrefetchWindow
  readonly ended: Promise<void>
  isOpen: boolean
  isConsuming: boolean
}

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
  readonly #saving = new Set<Promise<unknown>>()
  readonly #deliveries: DeliveryWatch
  readonly #watch: Watch
  #stay: Stay | undefined
  #isClosed = false
  /** Told once for as long as it lasts. */
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
    this.#deliveries = new DeliveryWatch(queue, stalls)
    this.#watch = new Watch(settings.connection.clock, () => this.#look())
    this.#running = this.#run()
  }

  /** Nothing that came is still to be saved, and what comes next will come. A queue that is not there holds nothing. */
  get isCaughtUp(): boolean {
    const isLookedAt = (this.#stay?.isOpen && this.#stay.isConsuming) || this.#problem?.code === NOT_FOUND
    return isLookedAt && this.#saving.size === 0
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#watch.stop()
    this.#wake()
    const { clock } = this.#settings.connection
    const stay = this.#stay
    if (stay?.isOpen) {
      await within(clock, CLOSE_MS, stay.channel.cancel(this.queue))
      await within(clock, CLOSE_MS, Promise.allSettled([...this.#saving]))
      stay.acks.flush()
      if (stay.acks.sent > 0) await rest(clock, NOTE_MS)
      await within(clock, CLOSE_MS, stay.channel.close())
    }
    await within(clock, CLOSE_MS, this.#running)
  }

  async #run(): Promise<void> {
    const { connection } = this.#settings
    let restMs = FIRST_REST_MS
    while (!this.#isClosed) {
      try {
        const stay = await this.#open(await this.#link.get(connection.connectTimeoutMs))
        this.#problem = undefined
        restMs = FIRST_REST_MS
        if (!this.#isClosed) this.#watch.start()
        await stay.ended
      } catch (error) {
        this.#tell(error as Error)
      }
      this.#watch.stop()
      if (!this.#isClosed) await this.#rest(restMs)
      restMs = Math.min(LONGEST_REST_MS, restMs * 2)
    }
  }

  async #open(connection: AmqpConnection): Promise<Stay> {
    const channel = await connection.createChannel()
    requireOpen(channel)
    const ended = Promise.withResolvers<void>()
    const stay: Stay = {
      channel,
      acks: new Acks(channel),
      window: new PrefetchWindow(this.#settings.prefetch),
      ended: ended.promise,
      isOpen: true,
      isConsuming: false,
    }
    // Told by the close that follows; without a listener it would end the process.
    channel.on('error', () => {})
    channel.on('close', () => {
      stay.isOpen = false
      ended.resolve()
    })
    // Before anything is consumed: whoever closes meanwhile closes this channel too.
    this.#stay = stay
    if (this.#isClosed) await channel.close()
    else {
      await channel.prefetch(this.#settings.prefetch)
      await channel.consume(this.queue, message => this.#receive(stay, message), { consumerTag: this.queue })
      stay.isConsuming = true
    }
    return stay
  }

  /** What is being saved comes again on the next channel, and is the same letter. */
  async #look(): Promise<void> {
    const stay = this.#stay
    if (!stay?.isOpen) return
    const { channel, window } = stay
    const countReady = async (queue: string) => (await channel.checkQueue(queue)).messageCount
    const isStalled = await this.#deliveries.isStalled({ hasRoom: window.hasRoom, countReady })
    if (!isStalled || this.#isClosed) return
    this.#deliveries.tell()
    await channel.close()
  }

  #receive(stay: Stay, message: AmqpMessage | null): void {
    this.#deliveries.arrived()
    // Somebody deleted the queue.
    if (message === null) {
      void stay.channel.close().catch(() => {})
      return
    }
    stay.acks.arrived(message, stay.window)
    const saving = this.#save(stay, message).finally(() => this.#saving.delete(saving))
    this.#saving.add(saving)
  }

  async #save(stay: Stay, message: AmqpMessage): Promise<void> {
    try {
      const isSaved = await this.#saver.save(message, this.queue, () => stay.isOpen)
      if (isSaved && stay.isOpen) stay.acks.settled(message)
    } catch (bug) {
      // A mistake of our own. The message is not acknowledged, so it comes again on the next channel.
      this.#settings.onError(bug)
    }
  }

  #tell(problem: Error): void {
    const isNews = this.#problem === undefined && !this.#isClosed
    this.#problem = problem
    if (isNews) this.#settings.onError(this.#notCollected(problem))
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
