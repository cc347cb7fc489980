import type { AttemptLog } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import { endOfWait } from '../../../../adapter-kit/ordered/end-of-wait.ts'
import type { LineEvent } from '../../../../adapter-kit/ordered/lines.ts'
import { PendingWork } from '../../../../adapter-kit/pending-work.ts'
import { countOf, parseLog } from '../../../../adapter-kit/wire/carried-log.ts'
import { headerText } from '../../connection/headers.ts'
import type { StoredMessage } from '../../connection/jetstream.ts'
import { NO_DATA, type OutgoingMessage } from '../../connection/publisher.ts'
import { LeaseExpiredError } from '../../errors.ts'
import type { SubscriptionContext } from '../consume/context.ts'
import { type Entry, permanentKey } from '../consume/entry.ts'
import { asciiJson, OWN } from '../wire/headers.ts'
import { afterCrash, headersWithLog, readLog } from '../wire/message-log.ts'
import { InPlace } from './in-place.ts'
import { WriteFences } from './write-fences.ts'

type Event = LineEvent<Entry>

/** What the state stream says about an event that others of its key wait for. */
interface HeldState {
  readonly heldKey: string
  readonly state: 'waiting' | 'dead'
  readonly line: string
  readonly place: number
  readonly id: string
  /** Epoch milliseconds before which it is not delivered; 0 without a wait. */
  readonly notBefore: number
  /** The length of that wait when it was stored. */
  readonly waitMs: number
  /** Where the state stream has it. */
  readonly sequence: number
  /** The permanent key of its message, if that is not stored with the state. */
  readonly inPlace: string | undefined
  readonly attempts: AttemptLog
}

/** An event that is to be stored as held. */
interface Holding {
  readonly event: Event
  readonly entry: Entry
  readonly log: AttemptLog
  readonly notBefore: number
  readonly isFirstSuspicion?: boolean
}

/**
 * The events of a handler that cannot be handled now and hold others of their key, in the state stream. Each has one
 * subject, and the stream keeps the latest message of it. Those that wait and those that are dead have different subjects, so
 * that they can be counted. A message that leaves no room for its state stays in its own stream, and only its state is stored.
 */
export class HeldEvents {
  readonly #context: SubscriptionContext
  readonly #isOurs: () => boolean
  readonly #fences: WriteFences
  readonly inPlace: InPlace
  readonly #writes = new PendingWork()
  /** What was read so far, and up to where. */
  readonly #read = { held: new Map<string, HeldState>(), from: { waiting: 1, dead: 1 } }
  /** States that a later one of their event has replaced, and that may still be there: the next owner would obey them. */
  readonly #replaced = new Map<string, Set<number>>()

  /** Another owner reads the states once. One that we wrote after that would bring back an event that is done. */
  constructor(context: SubscriptionContext, isOurs: () => boolean) {
    this.#context = context
    this.#isOurs = isOurs
    this.#fences = new WriteFences(context, isOurs)
    this.inPlace = new InPlace(context)
  }

  /** Resolves when no state is on its way. */
  async written(): Promise<void> {
    await this.#writes.settled()
  }

  /**
   * Everything that is held, without its messages. Of two states of one event the later one counts. A call after a failure
   * goes on where the failed one ended.
   */
  async read(): Promise<readonly Event[]> {
    const { held } = this.#read
    await this.#fences.raise()
    for (const kind of ['waiting', 'dead'] as const)
      for await (const message of this.#messages(kind)) {
        const state = this.#readHeld(message, kind)
        const other = held.get(state.heldKey)
        // A call that failed may have read it before.
        if (other === undefined || other.sequence === state.sequence) held.set(state.heldKey, state)
        else {
          const [older, newer] = other.sequence < state.sequence ? [other, state] : [state, other]
          held.set(state.heldKey, newer)
          this.#replace(state.heldKey, older.sequence)
        }
      }
    await Promise.all([...this.#replaced.keys()].map(heldKey => this.#removeReplaced(heldKey)))
    const { clock } = this.#context.settings
    return [...held.values()].map(stored => {
      const { heldKey, state, line, place, id, sequence, inPlace, attempts } = stored
      if (inPlace !== undefined) this.inPlace.add(heldKey, inPlace, attempts)
      const dueAt = endOfWait(clock, stored)
      return { line, id, heldKey, place, state, entry: undefined, heldAt: sequence, dueAt }
    })
  }

  /** The message of an event that waits. Undefined if somebody has deleted it. */
  async entry(event: Event): Promise<Entry | undefined> {
    const { names, settings } = this.#context
    if (this.inPlace.attemptsOf(event) !== undefined) return this.inPlace.entry(event)
    const stored = await this.#waiting(event)
    if (stored === undefined) return undefined
    const { sequence, storedAt } = stored
    const stream = names.streams.state
    const log = readLog(settings.name, stored, { stream, sequence, storedAt }, settings.clock.now())
    const message = { ...stored, stream, deliverySequence: 0, deliveries: 1, ackSubject: '' }
    return {
      source: 'retries',
      message,
      ackSubject: undefined,
      log,
      isSuspect: false,
      known: afterCrash(log),
      noteAt: undefined,
      line: event,
      isHeld: true,
    }
  }

  /** A state stream that was made again has another message at this sequence. */
  async #waiting(event: Event): Promise<StoredMessage | undefined> {
    const { jetstream, names } = this.#context
    const subject = this.#subject('waiting', event)
    const stored = await jetstream.message(names.streams.state, { seq: event.heldAt! })
    if (stored?.subject === subject) return stored
    const latest = await jetstream.message(names.streams.state, { last_by_subj: subject })
    event.heldAt = latest?.sequence
    return latest
  }

  /** Stores events with their attempts. They are not delivered before `notBefore`. */
  async hold(events: readonly Holding[]): Promise<void> {
    const stored = events.map(holding => {
      const { event, entry } = holding
      const withMessage = this.#fitting(holding)
      // A message that is held already has no other place to stay.
      const canStay = withMessage === undefined && entry.message.stream !== this.#context.names.streams.state
      const inPlace = canStay ? permanentKey(entry) : undefined
      const message = withMessage ?? this.#fitting(holding, inPlace) ?? this.#waitingMessage(holding, inPlace)
      return { event, message, inPlace, log: holding.log }
    })
    await this.#store(stored)
    for (const { event, inPlace, log } of stored)
      if (inPlace === undefined) this.inPlace.delete(event)
      else this.inPlace.add(event.heldKey, inPlace, log)
  }

  /** The state of an event, without its history if there is no room for that. Undefined if there is none at all. */
  #fitting(holding: Holding, inPlace?: string): OutgoingMessage | undefined {
    const { publisher } = this.#context
    const whole = this.#waitingMessage(holding, inPlace)
    if (publisher.fits(whole)) return whole
    const smaller = this.#waitingMessage({ ...holding, log: { ...holding.log, history: [] } }, inPlace)
    return publisher.fits(smaller) ? smaller : undefined
  }

  /** `inPlace` is the permanent key of the message, if that stays where it is. */
  #waitingMessage(
    { event, entry, log, notBefore, isFirstSuspicion = false }: Holding,
    inPlace?: string,
  ): OutgoingMessage {
    const { line, place, id } = event
    const { data, headers } = inPlace === undefined ? entry.message : { data: NO_DATA, headers: [] }
    const mark = isFirstSuspicion ? { isFirstSuspicion } : undefined
    const waitMs = notBefore - this.#context.settings.clock.now()
    const held = [OWN.held, asciiJson({ line, place, id, notBefore, waitMs, inPlace })] as const
    const withLog = headersWithLog(headers, entry.log.origin, log, mark)
    return this.#message('waiting', event, data, [...withLog, held])
  }

  /** The event is dead and blocks its line. */
  async markDead(event: Event): Promise<void> {
    const { line, place, id } = event
    const headers = [[OWN.held, asciiJson({ line, place, id })]] as const
    await this.#store([{ event, message: this.#message('dead', event, NO_DATA, headers) }])
    this.inPlace.delete(event)
  }

  /** The event is resolved. */
  async resolve(event: Event): Promise<void> {
    if (event.heldAt === undefined) return
    // Its request would be settled, and the new owner would not know that the key is free.
    if (!this.#isOurs()) throw new LeaseExpiredError(this.#context.names.streams.state)
    const { heldAt, heldKey } = event
    await this.#removeReplaced(heldKey)
    await this.#remove(heldAt)
    // It may have been held again meanwhile.
    if (event.heldAt !== heldAt) return
    event.heldAt = undefined
    this.inPlace.delete(event)
  }

  async #store(
    stored: readonly { readonly event: Event; readonly message: OutgoingMessage }[],
  ): Promise<void> {
    const sequences = await this.#publish(stored.map(({ message }) => message))
    for (const [index, { event }] of stored.entries()) {
      const before = event.heldAt
      event.heldAt = sequences[index]
      if (before === undefined) continue
      // It is under the other subject, or the stream has replaced it already.
      this.#replace(event.heldKey, before)
      await this.#removeReplaced(event.heldKey).catch(() => {})
    }
  }

  #replace(heldKey: string, sequence: number): void {
    const replaced = this.#replaced.get(heldKey)
    if (replaced === undefined) this.#replaced.set(heldKey, new Set([sequence]))
    else replaced.add(sequence)
  }

  async #removeReplaced(heldKey: string): Promise<void> {
    const replaced = this.#replaced.get(heldKey)
    for (const sequence of replaced ?? []) {
      await this.#remove(sequence)
      replaced!.delete(sequence)
    }
    if (replaced?.size === 0) this.#replaced.delete(heldKey)
  }

  async #publish(messages: readonly OutgoingMessage[]): Promise<readonly number[]> {
    this.#writes.begin()
    try {
      return await this.#fences.publish(messages)
    } finally {
      this.#writes.end()
    }
  }

  #message(
    kind: HeldState['state'],
    event: Event,
    data: Uint8Array,
    headers: OutgoingMessage['headers'],
  ): OutgoingMessage {
    const { streams, names } = this.#context
    return {
      stream: streams.name(names.channel, 'state'),
      subject: this.#subject(kind, event),
      data,
      headers,
    }
  }

  #subject(kind: HeldState['state'], { heldKey }: Event): string {
    return `${this.#context.names.stateSubject}.${kind}.${heldKey}`
  }

  async #remove(sequence: number): Promise<void> {
    const { jetstream, names } = this.#context
    await jetstream.deleteMessage(names.streams.state, sequence)
  }

  async *#messages(kind: HeldState['state']): AsyncGenerator<StoredMessage> {
    const { jetstream, names } = this.#context
    const next_by_subj = `${names.stateSubject}.${kind}.*`
    const { from } = this.#read
    for (;;) {
      if (!this.#isOurs()) throw new LeaseExpiredError(names.streams.state)
      const message = await jetstream.message(names.streams.state, { seq: from[kind], next_by_subj })
      if (message === undefined) return
      yield message
      from[kind] = message.sequence + 1
    }
  }

  #readHeld(message: StoredMessage, state: HeldState['state']): HeldState {
    const { subject, sequence, headers, storedAt } = message
    const { settings, names } = this.#context
    const { line, place, id, notBefore, waitMs, inPlace } = parseLog(headerText(headers, OWN.held) ?? '{}')
    const position = { stream: names.streams.state, sequence, storedAt }
    return {
      heldKey: subject.slice(subject.lastIndexOf('.') + 1),
      state,
      line: String(line),
      place: countOf(place),
      id: String(id),
      notBefore: countOf(notBefore),
      waitMs: countOf(waitMs),
      sequence,
      inPlace: typeof inPlace === 'string' ? inPlace : undefined,
      attempts: afterCrash(readLog(settings.name, message, position, settings.clock.now())),
    }
  }
}
