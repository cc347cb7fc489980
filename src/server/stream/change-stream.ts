import type { Cancel, Clock } from '../../ports/clock.ts'
import type { Caller } from '../auth/caller.ts'
import { iso } from '../schema/common.ts'
import type { OverviewNumbers } from '../schema/overview.ts'
import { type Topic, topic } from '../schema/stream.ts'
import type { StreamLimiter } from './stream-limiter.ts'

/** The stream sends at most two `change` events a second. */
const CHANGE_EVERY_MS = 500
const POLL_EVERY_MS = 1_000
/** A console takes a stream that is silent for longer than twice this time for lost. */
const HEARTBEAT_MS = 2_000
const RETRY_MS = 2_000

/** The state that the stream compares. `marks` has a text per topic that differs after each change. */
export interface StreamState {
  readonly numbers: OverviewNumbers
  readonly marks: Readonly<Record<Topic, string>>
}

/**
 * Tells consoles what has changed. While at least one client reads, the server polls the stores once a second, however
 * many clients there are; changes through this server are sent at once. A message is encoded once for all readers.
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
  #cancelSend: Cancel | undefined
  #cancelPoll: Cancel | undefined
  #cancelBeat: Cancel | undefined
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
   * `isReconnect`: the client may have missed events, so it receives a change of all topics. Throws when the caller, or
   * all callers together, have reached their limit of open streams. The stream ends with the session of the caller.
   */
  open({ name, endsAt }: Pick<Caller, 'name' | 'endsAt'>, isReconnect: boolean): Response {
    const release = this.#limiter.acquire(name)
    let cancelEnd: Cancel | undefined
    const reader = new StreamReader(each => {
      this.#readers.delete(each)
      cancelEnd?.()
      release()
    })
    // The client connects again if it has renewed the session meanwhile.
    if (endsAt !== undefined)
      cancelEnd = this.#clock.schedule(endsAt - this.#clock.now(), () => reader.close())
    this.#readers.add(reader)
    reader.send(this.#encoder.encode(`retry: ${RETRY_MS}\n\n`))
    if (isReconnect)
      reader.send(this.#message('change', { topics: topic.options, at: iso(this.#clock.now()) }))
    if (this.#lastState !== undefined) reader.send(this.#message('overview', this.#lastState.numbers))
    if (this.#isClosed) reader.close()
    else {
      if (!this.#isPolling) void this.#poll()
      if (this.#cancelBeat === undefined) this.#beat()
    }
    return new Response(reader.stream, {
      headers: {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        // This header asks nginx and others not to buffer the stream.
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
    this.#cancelBeat?.()
    for (const reader of [...this.#readers]) reader.close()
  }

  #sendChange(): void {
    this.#cancelSend = undefined
    this.#changeSentAt = this.#clock.now()
    const topics = topic.options.filter(each => this.#pending.has(each))
    this.#pending.clear()
    this.#send(this.#message('change', { topics, at: iso(this.#changeSentAt) }))
  }

  /** Sends a heartbeat some time after the last message, while there are readers. A poll can wait for a slow store, and a heartbeat must not. */
  #beat(): void {
    this.#cancelBeat?.()
    this.#cancelBeat =
      this.#readers.size === 0 || this.#isClosed
        ? undefined
        : this.#clock.schedule(HEARTBEAT_MS, () => this.#send(this.#encoder.encode(': heartbeat\n\n')))
  }

  async #poll(): Promise<void> {
    this.#isPolling = true
    // The state of a store that is down is unknown. The next poll may succeed.
    const readState = await this.#readState().catch(() => undefined)
    if (readState !== undefined) this.#compare(readState)
    this.#isPolling = this.#readers.size > 0 && !this.#isClosed
    if (this.#isPolling) this.#cancelPoll = this.#clock.schedule(POLL_EVERY_MS, () => void this.#poll())
    // The next reader starts without a previous state.
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
    for (const reader of [...this.#readers]) reader.send(bytes)
    this.#beat()
  }
}

/** The time of the poll alone is not a change. */
function numbersText({ numbers }: StreamState): string {
  return JSON.stringify({ ...numbers, at: '' })
}

/** The server disconnects a reader that is this far behind. The client reconnects and loads everything again. */
const MAX_BEHIND_BYTES = 64 * 1_024

/** One open stream. A message is queued; if the client does not read, the stream ends. The server never waits for it. */
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
