import type { Cancel } from '../../../../ports/clock.ts'
import { NANOSECONDS_PER_MS } from '../../connection/nanoseconds.ts'
import type { StreamPosition } from '../streams/stream-position.ts'
import type { PullLimits } from '../streams/streams.ts'
import type { StreamMessage } from '../wire/message.ts'
import { logIn } from '../wire/message-log.ts'
import { Acknowledgements, type MessageId } from './acknowledgements.ts'
import type { SubscriptionContext } from './context.ts'
import { type Entry, entryKey, type Source } from './entry.ts'
import { findGone } from './gone-messages.ts'
import { KnownConsumers } from './known-consumers.ts'
import { ProgressWriter } from './progress-writer.ts'
import { Puller } from './puller.ts'
import { SourceState } from './source-state.ts'

interface IntakeListener {
  /** How many more messages may come. */
  room(source: Source): number
  arrived(entry: Entry): void
  /** Every delivery of the server, also of a message that is here already [none]. */
  readonly delivered?: (source: Source, message: StreamMessage) => void
  /** The stream of the channel was made again, or a killed server counts it from 1 again: later events have lower sequences [none]. */
  readonly beganAgain?: () => void
}

const SOURCES: readonly Source[] = ['events', 'retries']
const VERIFY_AGAIN_MS = 500
/** A failure that goes away by itself, such as a leader that moves, is not reported. */
const UNREPORTED = 3
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
  readonly #entries = new Map<number, Entry>()
  readonly #acknowledged: Readonly<Record<Source, Acknowledgements>>
  /** The highest sequence of the channel's stream so far. */
  #lastSequence = 0
  readonly #states: Readonly<Record<Source, SourceState>>
  readonly #consumers: KnownConsumers
  readonly #progress: ProgressWriter
  #cancelHeartbeat: Cancel = () => {}
  #isClosed = false
  readonly #stopListening: readonly Cancel[]

  constructor(context: SubscriptionContext, listener: IntakeListener) {
    this.#context = context
    this.#listener = listener
    const remembered = Math.max(MIN_REMEMBERED, 2 * context.prefetch)
    this.#acknowledged = {
      events: new Acknowledgements(remembered),
      retries: new Acknowledgements(remembered),
    }
    // Before the pullers: a message that is acknowledged must not be delivered again.
    this.#stopListening = [
      context.link.onUp(() => this.#connected()),
      context.streams.onMadeAgain(stream => this.#madeAgain(stream)),
    ]
    this.#progress = new ProgressWriter(context)
    this.#consumers = new KnownConsumers(context)
    this.#pullers = { events: this.#puller('events'), retries: this.#puller('retries') }
    this.#states = { events: this.#newState('events'), retries: this.#newState('retries') }
  }

  /** Resolves with where the stream of the channel begins and ends. */
  async open(): Promise<StreamPosition> {
    for (const source of SOURCES) await this.#pullers[source].open()
    await this.#examine('retries')
    const position = await this.#examine('events')
    this.#consumers.found()
    this.#progress.write()
    this.#heartbeatLater()
    return position
  }

  async #examine(source: Source): Promise<StreamPosition> {
    const { streams, names } = this.#context
    const know = await this.#consumers.look(source)
    const position = await streams.examine(names.channel, source)
    this.#states[source].answered(position)
    know()
    return position
  }

  resume(): void {
    for (const source of SOURCES) this.#pullers[source].resume()
  }

  pause(): void {
    for (const source of SOURCES) this.#pullers[source].pause()
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
    this.#consumers.close()
    this.#cancelHeartbeat()
    for (const stop of this.#stopListening) stop()
    for (const state of Object.values(this.#states)) {
      state.cancelRetry()
      this.#context.stalls.ended('settlements', state)
    }
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

  /** A consumer is made again, because its stream counts from 1 again. */
  get isRemaking(): boolean {
    return this.#consumers.areOutdated
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
    const isSent = this.#states[source].isVerified
    this.#acknowledged[source].add({ sequence, storedAt, ackSubject, word }, isSent)
    this.#settle(entry, word)
  }

  #settle(entry: Entry, word: string): void {
    const { ackSubject, source } = entry
    if (ackSubject === undefined) return
    this.#forget(entry)
    if (this.#states[source].isVerified) this.#context.link.send(ackSubject, word)
  }

  /** The server has delivered the message of an entry again that was forgotten: `entry` can be settled, and `again` is dropped. */
  readopt(entry: Entry, again: Entry): void {
    entry.ackSubject = again.ackSubject
    again.ackSubject = undefined
    this.#entries.set(entryKey(entry.source, entry.message.sequence), entry)
  }

  /** It cannot be settled any more. */
  #forget(entry: Entry): void {
    entry.ackSubject = undefined
    this.#entries.delete(entryKey(entry.source, entry.message.sequence))
  }

  #newState(source: Source): SourceState {
    const { streams, names } = this.#context
    return new SourceState(streams.createdAt(names.streams[source]))
  }

  /** The server takes an acknowledgement for any message with that sequence, also for one of a stream that was made again. */
  #connected(): void {
    this.#consumers.connected()
    for (const source of SOURCES) {
      this.#states[source].isVerified = false
      void this.#verify(source)
    }
  }

  /** Finds out whether a stream is the one that the messages here came from, and forgets those that it does not have. */
  async #verify(source: Source): Promise<void> {
    const { jetstream, streams, names, link, stalls } = this.#context
    const state = this.#states[source]
    const wasAskedAgain = state.ask()
    // Before the question: a message that comes together with the answer can be younger than it.
    const known = this.#messagesOf(source)
    const consumer = this.#consumers.look(source)
    try {
      const position = await streams.examine(names.channel, source)
      const gone = await findGone(jetstream, names.streams[source], position, known)
      if (this.#isClosed || wasAskedAgain()) return
      const hasRestarted = state.answered(position)
      const beganAgain = this.#forgetGone(source, gone) || hasRestarted
      if (beganAgain) this.#beganAgain(source)
      else {
        void consumer.then(know => {
          if (!wasAskedAgain()) know()
        })
        if (source === 'events' && !state.isVerified) this.#consumers.remake()
      }
    } catch (error) {
      if (!this.#isClosed && !wasAskedAgain() && !state.isVerified) this.#verifyLater(source, error as Error)
      return
    }
    state.failures = 0
    stalls.ended('settlements', state)
    if (state.isVerified) return
    state.isVerified = true
    for (const { ackSubject, word } of this.#acknowledged[source].all) link.send(ackSubject, word)
    for (const message of state.takePostponed()) this.#take(source, message)
    this.pull()
  }

  /** Without a connection there is nothing to find out. The next one begins this again. */
  #verifyLater(source: Source, error: Error): void {
    const { settings, link, stalls } = this.#context
    const state = this.#states[source]
    if (++state.failures > UNREPORTED) stalls.stalled('settlements', state, error)
    if (link.current !== undefined)
      state.cancelRetry = settings.clock.schedule(VERIFY_AGAIN_MS, () => void this.#verify(source))
  }

  /** The messages of a stream that are here, or were acknowledged. */
  #messagesOf(source: Source): readonly MessageId[] {
    const open = [...this.#entries.values()].filter(entry => entry.source === source)
    return [...open.map(({ message }) => message), ...this.#acknowledged[source].all]
  }

  /** The messages of these sequences are others now. False if nothing was known of them any more. */
  #forgetGone(source: Source, gone: readonly MessageId[]): boolean {
    let hasForgotten = false
    for (const message of gone) {
      const entry = this.#entries.get(entryKey(source, message.sequence))
      if (entry?.message.storedAt === message.storedAt) {
        this.#forget(entry)
        hasForgotten = true
      }
      if (this.#acknowledged[source].delete(message)) hasForgotten = true
    }
    return hasForgotten
  }

  /** The stream counts from 1 again. The messages that are left here are from the stream as it is now. */
  #beganAgain(source: Source): void {
    this.#consumers.streamBeganAgain(source)
    this.#placesBeganAgain(source)
  }

  #placesBeganAgain(source: Source): void {
    if (source !== 'events') return
    this.#lastSequence = 0
    for (const { source: from, message } of this.#entries.values())
      if (from === source) this.#lastSequence = Math.max(this.#lastSequence, message.sequence)
    this.#listener.beganAgain?.()
  }

  /** It is another stream, which counts from 1. Messages of the old one cannot be settled there. */
  #madeAgain(stream: string): void {
    const { streams, names } = this.#context
    for (const source of SOURCES) {
      const created = streams.createdAt(stream)
      const state = this.#states[source]
      if (names.streams[source] !== stream || created === state.created) continue
      state.created = created
      const madeAt = Date.parse(created ?? '') || Number.POSITIVE_INFINITY
      this.#forgetGone(
        source,
        this.#messagesOf(source).filter(({ storedAt }) => storedAt < madeAt),
      )
      this.#placesBeganAgain(source)
    }
    this.pull()
  }

  #puller(source: Source): Puller {
    return new Puller(this.#context, source, {
      room: () => (this.#states[source].isVerified ? this.#listener.room(source) : 0),
      received: message => this.#received(source, message),
      repair: () => this.#repair(source),
    })
  }

  /** The server of the stream can have been killed although ours was not: then it is known only by its messages. */
  #received(source: Source, message: StreamMessage): void {
    const state = this.#states[source]
    if (state.isVerified && state.isContradictedBy(message)) {
      state.isVerified = false
      void this.#verify(source)
    }
    if (state.isVerified) this.#take(source, message)
    else state.postpone(message)
  }

  #take(source: Source, message: StreamMessage): void {
    this.#states[source].accept(message)
    this.#listener.delivered?.(source, message)
    const key = entryKey(source, message.sequence)
    const { storedAt, ackSubject } = message
    const known = this.#entries.get(key)
    if (known?.message.storedAt === storedAt) {
      // The server missed a heartbeat. The message is here already.
      known.ackSubject = ackSubject
      this.pull()
      return
    }
    const acknowledged = this.#acknowledged[source].get(message.sequence)
    if (acknowledged?.storedAt === storedAt) {
      // The acknowledgement was lost, or the consumer was made again and delivers thousands of such events.
      this.#context.link.send(ackSubject, acknowledged.word)
      this.pull()
      return
    }
    if (known !== undefined || acknowledged !== undefined) {
      // Another message with the same sequence: the stream was deleted and made again, or counts from 1 again.
      if (known !== undefined) this.#forget(known)
      if (acknowledged !== undefined) this.#acknowledged[source].delete(acknowledged)
      void this.#verify(source)
    }
    if (source === 'events') this.#lastSequence = Math.max(this.#lastSequence, message.sequence)
    const { settings } = this.#context
    const log = logIn(source, settings.name, message, message, settings.clock.now())
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

  /** The server of the stream may have been killed although ours was not. */
  async #repair(source: Source): Promise<PullLimits> {
    const { streams, names } = this.#context
    this.#states[source].isVerified = false
    await this.#verify(source)
    const limits = await streams.restoreConsumer(names, source, {
      created: this.#states[source].created,
      firstUnsettled: source === 'events' ? this.#firstUnsettled() : undefined,
    })
    this.#consumers.found()
    return limits
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
      if (ackSubject !== undefined && this.#states[source].isVerified)
        this.#context.link.send(ackSubject, '+WPI')
    // A consumer that asks for nothing, because it has enough, is not told that its stream was deleted or begun again.
    const verified = SOURCES.filter(source => this.#states[source].isVerified)
    void Promise.all(verified.map(source => this.#verify(source))).then(() => {
      if (!this.#isClosed && !this.#consumers.areOutdated) this.#progress.write()
    })
  }
}
