import type { Cancel } from '../../../../ports/clock.ts'
import type { StreamMessage } from '../wire/message.ts'
import { readLog } from '../wire/message-log.ts'
import type { SubscriptionContext } from './context.ts'
import { type Entry, entryKey, type Source } from './entry.ts'
import { Puller } from './puller.ts'

interface IntakeListener {
  /** How many more messages may come. */
  room(source: Source): number
  arrived(entry: Entry): void
  /** Every delivery of the server, also of a message that is here already [none]. */
  readonly delivered?: (source: Source, message: StreamMessage) => void
}

const NANOSECONDS_PER_MS = 1_000_000
const HEARTBEATS_PER_WAIT = 3
/** So many acknowledgements are remembered: those on their way are lost with the connection. */
const MAX_REMEMBERED = 5_000

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
  readonly #acknowledged = new Map<string, { readonly ackSubject: string; readonly word: string }>()
  /** The highest sequence of the channel's stream so far. */
  #lastSequence = 0
  readonly #created: Record<Source, string | undefined>
  #cancelHeartbeat: Cancel = () => {}
  readonly #stopListening: Cancel

  constructor(context: SubscriptionContext, listener: IntakeListener) {
    this.#context = context
    this.#listener = listener
    // Before the pullers: a message that is acknowledged must not be delivered again.
    this.#stopListening = context.link.onUp(() => this.#sendAcknowledgements())
    this.#pullers = { events: this.#puller('events'), retries: this.#puller('retries') }
    const { streams, names } = context
    this.#created = {
      events: streams.createdAt(names.streams.events),
      retries: streams.createdAt(names.streams.retries),
    }
  }

  async open(): Promise<void> {
    await this.#pullers.events.open()
    await this.#pullers.retries.open()
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
    this.#cancelHeartbeat()
    this.#stopListening()
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

  /** When the stream of an entry was made: with its sequence that names a message for good. */
  createdAt(source: Source): number {
    return Date.parse(this.#created[source] ?? '') || 0
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
    this.#acknowledged.set(entryKey(source, message.sequence), { ackSubject, word })
    if (this.#acknowledged.size > MAX_REMEMBERED) {
      const [oldest] = this.#acknowledged.keys()
      this.#acknowledged.delete(oldest!)
    }
    this.#settle(entry, word)
  }

  #sendAcknowledgements(): void {
    for (const { ackSubject, word } of this.#acknowledged.values()) this.#context.link.send(ackSubject, word)
  }

  #settle(entry: Entry, word: string): void {
    const { ackSubject, source, message } = entry
    if (ackSubject === undefined) return
    entry.ackSubject = undefined
    this.#entries.delete(entryKey(source, message.sequence))
    this.#context.link.send(ackSubject, word)
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
    const known = this.#entries.get(key)
    if (known !== undefined) {
      // The server missed a heartbeat. The message is here already.
      known.ackSubject = message.ackSubject
      return
    }
    const acknowledged = this.#acknowledged.get(key)
    if (acknowledged !== undefined) {
      // The acknowledgement was lost.
      this.#context.link.send(message.ackSubject, acknowledged.word)
      return
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

  async #repair(source: Source): Promise<void> {
    const { streams, names } = this.#context
    const stream = names.streams[source]
    await streams.restoreConsumer(names, source, {
      created: this.#created[source],
      firstUnsettled: source === 'events' ? this.#firstUnsettled() : undefined,
    })
    const created = streams.createdAt(stream)
    if (created === this.#created[source]) return
    // It is another stream, which counts from 1. Messages of the old one cannot be settled there.
    this.#created[source] = created
    if (source === 'events') this.#lastSequence = 0
    this.#acknowledged.clear()
    for (const [key, entry] of this.#entries)
      if (entry.source === source) {
        entry.ackSubject = undefined
        this.#entries.delete(key)
      }
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
      if (this.#context.link.current !== undefined)
        for (const { ackSubject } of this.#entries.values())
          if (ackSubject !== undefined) this.#context.link.send(ackSubject, '+WPI')
      this.#heartbeatLater()
    })
  }
}
