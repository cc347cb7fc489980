import type { Cancel, Clock } from '../../ports/clock.ts'
import { iso } from '../schema/common.ts'
import type { OverviewNumbers } from '../schema/overview.ts'
import { type Topic, topic } from '../schema/stream.ts'
import type { StreamPlaces } from './places.ts'

/** What has changed is told at most twice a second, whatever happens. */
const TELL_EVERY_MS = 500
const LOOK_EVERY_MS = 1_000
const HEARTBEAT_MS = 15_000
const RETRY_MS = 2_000

/** What the stream is told by: a text for each topic that is another one when something has changed. */
export interface Look {
  readonly numbers: OverviewNumbers
  readonly marks: Readonly<Record<Topic, string>>
}

/**
 * Tells consoles what to ask for again. As long as someone reads, the stores are looked at once a second, however many
 * read; what is changed through this server is told at once. Every message is written once and queued for each reader.
 */
export class Live {
  readonly #clock: Clock
  readonly #look: () => Promise<Look>
  readonly #places: StreamPlaces
  readonly #readers = new Set<Reader>()
  readonly #pending = new Set<Topic>()
  readonly #encoder = new TextEncoder()
  #last: Look | undefined
  #lastId = 0
  #toldAt = Number.NEGATIVE_INFINITY
  #saidAt = Number.NEGATIVE_INFINITY
  #cancelTell: Cancel | undefined
  #cancelLook: Cancel | undefined
  #isWatching = false
  #isClosed = false

  constructor(clock: Clock, look: () => Promise<Look>, places: StreamPlaces) {
    this.#clock = clock
    this.#look = look
    this.#places = places
  }

  get readers(): number {
    return this.#readers.size
  }

  /**
   * `isBack`: it read before and missed something, so everything may have changed. Refused when the caller, or all of
   * them together, have as many streams open as they may.
   */
  open(caller: string, isBack: boolean): Response {
    const givePlaceBack = this.#places.take(caller)
    const reader = new Reader(each => {
      this.#readers.delete(each)
      givePlaceBack()
    })
    this.#readers.add(reader)
    reader.say(this.#encoder.encode(`retry: ${RETRY_MS}\n\n`))
    if (isBack) reader.say(this.#message('change', { topics: topic.options, at: iso(this.#clock.now()) }))
    if (this.#last !== undefined) reader.say(this.#message('overview', this.#last.numbers))
    if (this.#isClosed) reader.close()
    else if (!this.#isWatching) void this.#watch()
    return new Response(reader.stream, {
      headers: {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        // Proxies that gather answers before they pass them on are asked not to.
        'x-accel-buffering': 'no',
      },
    })
  }

  touch(...topics: readonly Topic[]): void {
    if (this.#readers.size === 0 || this.#isClosed) return
    for (const each of topics) this.#pending.add(each)
    if (this.#pending.size === 0 || this.#cancelTell !== undefined) return
    const waitMs = Math.max(0, Math.min(TELL_EVERY_MS, this.#toldAt + TELL_EVERY_MS - this.#clock.now()))
    this.#cancelTell = this.#clock.schedule(waitMs, () => this.#tell())
  }

  close(): void {
    this.#isClosed = true
    this.#cancelTell?.()
    this.#cancelLook?.()
    for (const reader of [...this.#readers]) reader.close()
  }

  #tell(): void {
    this.#cancelTell = undefined
    this.#toldAt = this.#clock.now()
    const topics = topic.options.filter(each => this.#pending.has(each))
    this.#pending.clear()
    this.#say(this.#message('change', { topics, at: iso(this.#toldAt) }))
  }

  async #watch(): Promise<void> {
    this.#isWatching = true
    // A store that is down says nothing new; the next look may find it up again.
    const look = await this.#look().catch(() => undefined)
    if (look !== undefined) this.#compare(look)
    if (this.#clock.now() - this.#saidAt >= HEARTBEAT_MS) this.#say(this.#encoder.encode(': still here\n\n'))
    this.#isWatching = this.#readers.size > 0 && !this.#isClosed
    if (this.#isWatching) this.#cancelLook = this.#clock.schedule(LOOK_EVERY_MS, () => void this.#watch())
    // Who comes later starts afresh.
    else this.#last = undefined
  }

  #compare(look: Look): void {
    const before = this.#last
    this.#last = look
    if (before !== undefined)
      this.touch(...topic.options.filter(each => before.marks[each] !== look.marks[each]))
    if (before === undefined || numbersText(before) !== numbersText(look))
      this.#say(this.#message('overview', look.numbers))
  }

  #message(event: string, data: unknown): Uint8Array {
    return this.#encoder.encode(`id: ${++this.#lastId}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  }

  #say(bytes: Uint8Array): void {
    this.#saidAt = this.#clock.now()
    for (const reader of [...this.#readers]) reader.say(bytes)
  }
}

/** The time of looking alone is no news. */
function numbersText({ numbers }: Look): string {
  return JSON.stringify({ ...numbers, at: '' })
}

/** A reader that is so far behind is let go of: it comes back and asks anew. */
const MOST_BEHIND_BYTES = 64 * 1_024

/** One open stream. Whatever is said to it is queued or, when it does not read, ends it: nobody waits for a reader. */
class Reader {
  readonly stream: ReadableStream<Uint8Array>
  readonly #onEnd: (reader: Reader) => void
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #isOver = false

  constructor(onEnd: (reader: Reader) => void) {
    this.#onEnd = onEnd
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: controller => {
          this.#controller = controller
        },
        cancel: () => this.#end(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: MOST_BEHIND_BYTES }),
    )
  }

  say(bytes: Uint8Array): void {
    if (this.#isOver) return
    if ((this.#controller.desiredSize ?? 0) < bytes.byteLength) {
      this.#controller.error(new Error('the reader is too slow'))
      this.#end()
    } else this.#controller.enqueue(bytes)
  }

  close(): void {
    if (this.#isOver) return
    this.#controller.close()
    this.#end()
  }

  #end(): void {
    this.#isOver = true
    this.#onEnd(this)
  }
}
