import type { Cancel, Clock } from '../../ports/clock.ts'
import { iso } from '../schema/common.ts'
import type { OverviewNumbers } from '../schema/overview.ts'
import { type Topic, topic } from '../schema/stream.ts'
import type { StreamLimiter } from './stream-limiter.ts'

/** Changes are sent at most twice a second. */
const CHANGE_EVERY_MS = 500
const POLL_EVERY_MS = 1_000
const HEARTBEAT_MS = 15_000
const RETRY_MS = 2_000

/** What the stream is told by: a text for each topic that is another one when something has changed. */
export interface StreamState {
  readonly numbers: OverviewNumbers
  readonly marks: Readonly<Record<Topic, string>>
}

/**
 * Tells consoles what to ask for again. As long as someone reads, the stores are looked at once a second, however many
 * read; what is changed through this server is told at once. Every message is written once and queued for each reader.
 */
export class ChangeStream {
  readonly #clock: Clock
  readonly #readState: () => Promise<StreamState>
  readonly #limiter: StreamLimiter
  readonly #readers = new Set<StreamReader>()
  readonly #pending = new Set<Topic>()
  readonly #encoder = new TextEncoder()
  #lastState: StreamState | undefined
  #lastId = 0
  #changeSentAt = Number.NEGATIVE_INFINITY
  #sentAt = Number.NEGATIVE_INFINITY
  #cancelSend: Cancel | undefined
  #cancelPoll: Cancel | undefined
  #isPolling = false
  #isClosed = false

  constructor(clock: Clock, readState: () => Promise<StreamState>, limiter: StreamLimiter) {
    this.#clock = clock
    this.#readState = readState
    this.#limiter = limiter
  }

  get readers(): number {
    return this.#readers.size
  }

  /**
   * `isBack`: it read before and missed something, so everything may have changed. Refused when the caller, or all of
   * them together, have as many streams open as they may.
   */
  open(caller: string, isReconnect: boolean): Response {
    const release = this.#limiter.acquire(caller)
    const reader = new StreamReader(each => {
      this.#readers.delete(each)
      release()
    })
    this.#readers.add(reader)
    reader.send(this.#encoder.encode(`retry: ${RETRY_MS}\n\n`))
    if (isReconnect)
      reader.send(this.#message('change', { topics: topic.options, at: iso(this.#clock.now()) }))
    if (this.#lastState !== undefined) reader.send(this.#message('overview', this.#lastState.numbers))
    if (this.#isClosed) reader.close()
    else if (!this.#isPolling) void this.#poll()
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
    if (this.#pending.size === 0 || this.#cancelSend !== undefined) return
    const waitMs = Math.max(
      0,
      Math.min(CHANGE_EVERY_MS, this.#changeSentAt + CHANGE_EVERY_MS - this.#clock.now()),
    )
    this.#cancelSend = this.#clock.schedule(waitMs, () => this.#sendChange())
  }

  close(): void {
    this.#isClosed = true
    this.#cancelSend?.()
    this.#cancelPoll?.()
    for (const reader of [...this.#readers]) reader.close()
  }

  #sendChange(): void {
    this.#cancelSend = undefined
    this.#changeSentAt = this.#clock.now()
    const topics = topic.options.filter(each => this.#pending.has(each))
    this.#pending.clear()
    this.#send(this.#message('change', { topics, at: iso(this.#changeSentAt) }))
  }

  async #poll(): Promise<void> {
    this.#isPolling = true
    // A store that is down says nothing new; the next look may find it up again.
    const readState = await this.#readState().catch(() => undefined)
    if (readState !== undefined) this.#compare(readState)
    if (this.#clock.now() - this.#sentAt >= HEARTBEAT_MS) this.#send(this.#encoder.encode(': heartbeat\n\n'))
    this.#isPolling = this.#readers.size > 0 && !this.#isClosed
    if (this.#isPolling) this.#cancelPoll = this.#clock.schedule(POLL_EVERY_MS, () => void this.#poll())
    // Who comes later starts afresh.
    else this.#lastState = undefined
  }

  #compare(readState: StreamState): void {
    const before = this.#lastState
    this.#lastState = readState
    if (before !== undefined)
      this.touch(...topic.options.filter(each => before.marks[each] !== readState.marks[each]))
    if (before === undefined || numbersText(before) !== numbersText(readState))
      this.#send(this.#message('overview', readState.numbers))
  }

  #message(event: string, data: unknown): Uint8Array {
    return this.#encoder.encode(`id: ${++this.#lastId}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  }

  #send(bytes: Uint8Array): void {
    this.#sentAt = this.#clock.now()
    for (const reader of [...this.#readers]) reader.send(bytes)
  }
}

/** A new timestamp alone is not a change. */
function numbersText({ numbers }: StreamState): string {
  return JSON.stringify({ ...numbers, at: '' })
}

/** A reader that is this far behind is disconnected: it reconnects and loads the data again. */
const MAX_BEHIND_BYTES = 64 * 1_024

/**
 * One open stream. A message to it is queued or, if the client does not read, ends the stream: nobody waits for a
 * reader.
 */
class StreamReader {
  readonly stream: ReadableStream<Uint8Array>
  readonly #onEnd: (reader: StreamReader) => void
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #isOver = false

  constructor(onEnd: (reader: StreamReader) => void) {
    this.#onEnd = onEnd
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: controller => {
          this.#controller = controller
        },
        cancel: () => this.#end(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: MAX_BEHIND_BYTES }),
    )
  }

  send(bytes: Uint8Array): void {
    if (this.#isOver) return
    if ((this.#controller.desiredSize ?? 0) < bytes.byteLength) {
      this.#controller.error(new Error('the client reads too slowly'))
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
