import type { Cancel } from '../../../../ports/clock.ts'
import type { PullLimits } from '../streams/streams.ts'
import type { StreamMessage } from '../wire/message.ts'
import { readLog } from '../wire/message-log.ts'
import type { SubscriptionContext } from './context.ts'
import { type Entry, entryKey, type Source, sourceOf } from './entry.ts'
import { PlaceNote } from './place-note.ts'
import { Puller } from './puller.ts'

/** An acknowledgement that was sent, and the time of its message. */
interface Acknowledgement {
  readonly ackSubject: string
  readonly word: string
  readonly storedAt: number
}

interface IntakeListener {
  /** How many more messages may come. */
  room(source: Source): number
  arrived(entry: Entry): void
  /** Every delivery of the server, also of a message that is here already [none]. */
  readonly delivered?: (source: Source, message: StreamMessage) => void
}

const SOURCES: readonly Source[] = ['events', 'retries']
const CHECK_AGAIN_MS = 500
const NANOSECONDS_PER_MS = 1_000_000
const HEARTBEATS_PER_WAIT = 3
/** So many acknowledgements are remembered at least: those on their way are lost with the connection. */
const MIN_REMEMBERED = 5_000

/**
 * The messages that the server has given to this subscription, from the stream of the channel and from the retries of the
 * handler. It tells the server that they are being worked on, until they are settled.
 */
export class Intake {
  readonly #context: SubscriptionContext
  readonly #listener: IntakeListener
  readonly #pullers: Readonly<Record<Source, Puller>>
  readonly #entries = new Map<string, Entry>()
  /** The latest acknowledgements. The server does not confirm them, so that they are sent again on the next connection. */
  readonly #acknowledged = new Map<string, Acknowledgement>()
  /** The highest sequence of the channel's stream so far. */
  #lastSequence = 0
  readonly #created: Record<Source, string | undefined>
  /** The streams are those that the messages here came from. After a connection was lost, that is not known. */
  readonly #isSame: Record<Source, boolean> = { events: true, retries: true }
  readonly #place: PlaceNote
  #cancelHeartbeat: Cancel = () => {}
  #isClosed = false
  readonly #stopListening: readonly Cancel[]

  constructor(context: SubscriptionContext, listener: IntakeListener) {
    this.#context = context
    this.#listener = listener
    const { streams, names } = context
    // Before the pullers: a message that is acknowledged must not be delivered again.
    this.#stopListening = [
      context.link.onUp(() => this.#connected()),
      streams.onMadeAgain(stream => this.#madeAgain(stream)),
    ]
    this.#place = new PlaceNote(context)
    this.#pullers = { events: this.#puller('events'), retries: this.#puller('retries') }
    this.#created = {
      events: streams.createdAt(names.streams.events),
      retries: streams.createdAt(names.streams.retries),
    }
  }

  async open(): Promise<void> {
    await this.#pullers.events.open()
    await this.#pullers.retries.open()
    this.#place.keep()
    this.#heartbeatLater()
  }

  resume(): void {
    this.#pullers.events.resume()
    this.#pullers.retries.resume()
  }

  pause(): void {
    this.#pullers.events.pause()
    this.#pullers.retries.pause()
  }

  /** There may be room for more. */
  pull(): void {
    this.#pullers.events.pull()
    this.#pullers.retries.pull()
  }

  /** Nothing arrives after this resolves. */
  async stop(): Promise<void> {
    await Promise.all([this.#pullers.events.close(), this.#pullers.retries.close()])
  }

  /** Ends the heartbeats. The server gives unsettled messages to another consumer. */
  close(): void {
    this.#isClosed = true
    this.#cancelHeartbeat()
    for (const stop of this.#stopListening) stop()
    this.#entries.clear()
  }

  /** How many messages of a stream are here and not settled. */
  count(source: Source): number {
    let count = 0
    for (const entry of this.#entries.values()) if (entry.source === source) count++
    return count
  }

  /** How many messages are here and not settled. */
  get size(): number {
    return this.#entries.size
  }

  /** In the order in which they came. */
  get all(): Iterable<Entry> {
    return this.#entries.values()
  }

  ack(entry: Entry): void {
    this.#acknowledge(entry, '+ACK')
  }

  /** The event is given up, and its letter is stored. */
  terminate(entry: Entry): void {
    this.#acknowledge(entry, '+TERM')
  }

  /** The server delivers it again, to any consumer of the handler, and not before the delay is over. */
  giveBack(entry: Entry, delayMs = 0): void {
    const delay = Math.ceil(delayMs) * NANOSECONDS_PER_MS
    this.#settle(entry, delay > 0 ? `-NAK {"delay": ${delay}}` : '-NAK')
  }

  #acknowledge(entry: Entry, word: string): void {
    const { ackSubject, source, message } = entry
    if (ackSubject === undefined) return
    const { sequence, storedAt } = message
    this.#acknowledged.set(entryKey(source, sequence), { ackSubject, word, storedAt })
    if (this.#acknowledged.size > Math.max(MIN_REMEMBERED, 2 * this.#context.prefetch)) {
      const [oldest] = this.#acknowledged.keys()
      this.#acknowledged.delete(oldest!)
    }
    this.#settle(entry, word)
  }

  #settle(entry: Entry, word: string): void {
    const { ackSubject, source } = entry
    if (ackSubject === undefined) return
    this.#forget(entry)
    if (this.#isSame[source]) this.#context.link.send(ackSubject, word)
  }

  /** It cannot be settled any more. */
  #forget(entry: Entry): void {
    entry.ackSubject = undefined
    this.#entries.delete(entryKey(entry.source, entry.message.sequence))
  }

  /** The server takes an acknowledgement for any message with that sequence, also for one of a stream that was made again. */
  #connected(): void {
    for (const source of SOURCES) {
      this.#isSame[source] = false
      void this.#check(source)
    }
  }

  /** Finds out whether a stream is another one than before, and settles in it only after that. */
  async #check(source: Source): Promise<void> {
    const { streams, names, settings, link } = this.#context
    // Before the question: an event that comes together with the answer can be younger than it.
    const highest = this.#highestSequence(source)
    try {
      await streams.restore(names.streams[source])
      if (!this.#isSame[source]) {
        if (streams.lastSequence(names.streams[source]) < highest) this.#forgetAll(source)
        if (source === 'events') await streams.remakeConsumersAhead(names.channel)
      }
    } catch {
      // While the connection is lost there is nothing to find out, and the next one begins this again.
      if (!this.#isSame[source] && link.current !== undefined && !this.#isClosed)
        settings.clock.schedule(CHECK_AGAIN_MS, () => void this.#check(source))
      return
    }
    if (this.#isSame[source]) return
    this.#isSame[source] = true
    for (const [key, { ackSubject, word }] of this.#acknowledged)
      if (sourceOf(key) === source) link.send(ackSubject, word)
  }

  #highestSequence(source: Source): number {
    let highest = 0
    for (const key of [...this.#entries.keys(), ...this.#acknowledged.keys()])
      if (sourceOf(key) === source) highest = Math.max(highest, Number(key.slice(1)))
    return highest
  }

  /** A killed server has begun the stream again at 1: the messages of these sequences are others. */
  #forgetAll(source: Source): void {
    if (source === 'events') this.#lastSequence = 0
    for (const entry of [...this.#entries.values()]) if (entry.source === source) this.#forget(entry)
    for (const key of [...this.#acknowledged.keys()])
      if (sourceOf(key) === source) this.#acknowledged.delete(key)
  }

  /** It is another stream, which counts from 1. Messages of the old one cannot be settled there. */
  #madeAgain(stream: string): void {
    const { streams, names } = this.#context
    for (const source of SOURCES) {
      const created = streams.createdAt(stream)
      if (names.streams[source] !== stream || created === this.#created[source]) continue
      this.#created[source] = created
      const madeAt = Date.parse(created ?? '') || Number.POSITIVE_INFINITY
      if (source === 'events') this.#lastSequence = 0
      for (const entry of this.#entries.values()) {
        if (entry.source !== source) continue
        if (entry.message.storedAt < madeAt) this.#forget(entry)
        else if (source === 'events')
          this.#lastSequence = Math.max(this.#lastSequence, entry.message.sequence)
      }
      for (const [key, { storedAt }] of this.#acknowledged)
        if (sourceOf(key) === source && storedAt < madeAt) this.#acknowledged.delete(key)
    }
    this.pull()
  }

  #puller(source: Source): Puller {
    return new Puller(this.#context, source, {
      room: () => this.#listener.room(source),
      received: message => this.#received(source, message),
      repair: () => this.#repair(source),
    })
  }

  #received(source: Source, message: StreamMessage): void {
    this.#listener.delivered?.(source, message)
    const key = entryKey(source, message.sequence)
    const { storedAt, ackSubject } = message
    const known = this.#entries.get(key)
    if (known?.message.storedAt === storedAt) {
      // The server missed a heartbeat. The message is here already.
      known.ackSubject = ackSubject
      return
    }
    const acknowledged = this.#acknowledged.get(key)
    if (acknowledged?.storedAt === storedAt) {
      // The acknowledgement was lost.
      this.#context.link.send(ackSubject, acknowledged.word)
      return
    }
    if (known !== undefined || acknowledged !== undefined) {
      // Another message at the same place: the stream was deleted and made again.
      if (known !== undefined) this.#forget(known)
      this.#acknowledged.delete(key)
      void this.#check(source)
    }
    if (source === 'events') this.#lastSequence = Math.max(this.#lastSequence, message.sequence)
    const { settings } = this.#context
    const log = readLog(settings.name, message, message, settings.clock.now())
    const entry: Entry = {
      source,
      message,
      ackSubject: message.ackSubject,
      log,
      isSuspect: message.deliveries > (log.hasWaited ? 2 : 1),
      known: undefined,
      noteAt: undefined,
      line: undefined,
      isHeld: false,
    }
    this.#entries.set(key, entry)
    this.#listener.arrived(entry)
  }

  #repair(source: Source): Promise<PullLimits> {
    const { streams, names } = this.#context
    return streams.restoreConsumer(names, source, {
      created: this.#created[source],
      firstUnsettled: source === 'events' ? this.#firstUnsettled() : undefined,
    })
  }

  #firstUnsettled(): number | undefined {
    if (this.#lastSequence === 0) return undefined
    let first = this.#lastSequence + 1
    for (const { source, message } of this.#entries.values())
      if (source === 'events') first = Math.min(first, message.sequence)
    return first
  }

  #heartbeatLater(): void {
    const { settings, ackWaitMs } = this.#context
    this.#cancelHeartbeat = settings.clock.schedule(ackWaitMs / HEARTBEATS_PER_WAIT, () => {
      if (this.#context.link.current !== undefined) this.#heartbeat()
      this.#heartbeatLater()
    })
  }

  #heartbeat(): void {
    for (const { ackSubject, source } of this.#entries.values())
      if (ackSubject !== undefined && this.#isSame[source]) this.#context.link.send(ackSubject, '+WPI')
    // A consumer that asks for nothing, because it has enough, is not told that its stream was deleted.
    for (const source of SOURCES) if (this.#isSame[source] && this.count(source) > 0) void this.#check(source)
    this.#place.keep()
  }
}
