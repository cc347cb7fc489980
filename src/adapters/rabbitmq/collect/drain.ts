import { rest, within } from '../../../ports/waiting.ts'
import type { AmqpChannel, AmqpConnection, AmqpMessage } from '../amqp.ts'
import { Acks } from '../consume/acks.ts'
import { NotCollectedError } from '../errors.ts'
import type { Link } from '../link/link.ts'
import { CLOSE_MS } from '../waiting.ts'
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
  readonly ended: Promise<void>
  isOpen: boolean
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
    this.#running = this.#run()
  }

  /** Nothing that came is still to be saved, and what comes next will come. A queue that is not there holds nothing. */
  get isCaughtUp(): boolean {
    const isLookedAt = this.#stay?.isOpen === true || this.#problem?.code === NOT_FOUND
    return isLookedAt && this.#saving.size === 0
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
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
        await stay.ended
      } catch (error) {
        this.#tell(error as Error)
      }
      if (!this.#isClosed) await this.#rest(restMs)
      restMs = Math.min(LONGEST_REST_MS, restMs * 2)
    }
  }

  async #open(connection: AmqpConnection): Promise<Stay> {
    const channel = await connection.createChannel()
    const ended = Promise.withResolvers<void>()
    const stay: Stay = { channel, acks: new Acks(channel), ended: ended.promise, isOpen: true }
    // Told by the close that follows; without a listener it would end the process.
    channel.on('error', () => {})
    channel.on('close', () => {
      stay.isOpen = false
      ended.resolve()
    })
    await channel.prefetch(this.#settings.prefetch)
    await channel.consume(this.queue, message => this.#receive(stay, message), { consumerTag: this.queue })
    this.#stay = stay
    return stay
  }

  #receive(stay: Stay, message: AmqpMessage | null): void {
    // Somebody deleted the queue.
    if (message === null) {
      void stay.channel.close().catch(() => {})
      return
    }
    stay.acks.arrived(message)
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
    if (isNews) this.#settings.onError(new NotCollectedError(`collecting queue '${this.queue}'`, problem))
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
