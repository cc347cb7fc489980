import { BreakerOpenError } from '../core/breaker/errors.ts'
import { failedEvent } from '../core/dead-letter/failed-event.ts'
import { type FilterSubject, limitOf, type SaveFilter } from '../core/dead-letter/filter.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { Reason } from '../core/dead-letter/reason.ts'
import { isVerified, splitVerified } from '../core/dead-letter/verify.ts'
import { LazaretError } from '../core/failure/errors.ts'
import { type Clock, settlesWithin } from '../ports/clock.ts'
import type { DeadLetterQueue, DeadLetterStore, Spill } from '../ports/dead-letters.ts'
import type { Notifier } from '../ports/notifier.ts'
import type { LetterObservation, Observer } from '../ports/observer.ts'
import { TimeoutError } from './attempt/attempt.ts'
import { observe } from './observe.ts'
import { type Resilient, resilient } from './resilient/resilient.ts'
import { SpillDrainer, type SpillHealth } from './spill-drainer.ts'
import { reserveSpill } from './spill-stores.ts'
import type { UserFaults } from './user-functions/user-faults.ts'

/** The timeout for saving one letter. Afterwards the letter goes to the spill, or is saved again. */
export const SAVE_TIMEOUT_MS = 5_000
/** The pause after a failure of the store. Letters go to the spill in that time. */
const STORE_BREAKER_OPEN_MS = 5_000

interface LetterSaverSetup {
  readonly deadLetters: DeadLetterQueue
  readonly spill: Spill | undefined
  readonly observer: Observer
  readonly clock: Clock
}

/** An event that is given up on. */
export interface GivenUpEvent extends Omit<FilterSubject, 'name' | 'payload' | 'retryCount' | 'limit'> {
  readonly channel: string
  /** The reason that ended the attempts, if the letter has another one because its job continued without the event. */
  readonly endedBy?: Reason | undefined
  readonly attemptCount: number
  /** Which replay of the event it is; 0 for its first cycle. */
  readonly replay: number
}

/**
 * Whether an event that is given up on becomes a letter: consumers and dispatchers ask the option `filter` here, once for each
 * event, and nowhere else. A replayed event always does: its letter waits to hear how it went.
 *
 * The fallback: where a function of the filter throws, or answers anything but true or false, the letter is kept, and the
 * fault is reported as that of the user function `filter`. `createSaveFilter` sees to both.
 */
export function isKept(
  filter: SaveFilter,
  givenUp: GivenUpEvent,
  observer: Observer,
  tell: typeof observe = observe,
): boolean {
  const { channel, handler, reason, replay } = givenUp
  if (replay > 0) return true
  const { save } = filter(filterSubject(givenUp))
  if (!save && observer.letterFiltered) tell(observer, 'letterFiltered', { channel, name: handler, reason })
  return save
}

/** The argument of the functions `filter` and `metadata`: the event that Lazaret gave up on. */
export function filterSubject({
  event,
  handler,
  reason,
  endedBy,
  error,
  failure,
  attemptCount,
}: Omit<GivenUpEvent, 'channel' | 'replay'>): FilterSubject {
  const { type: name, payload } = event
  const retryCount = Math.max(0, attemptCount - 1)
  return {
    name,
    payload,
    error,
    failure,
    handler,
    retryCount,
    event,
    reason,
    limit: limitOf(endedBy ?? reason),
  }
}

/**
 * Makes letters durable: in the store, or in the spill while the store is down. An event may be acknowledged only when
 * `save` of its letter has resolved. Spilled letters are moved on by themselves once the store is back.
 */
export class LetterSaver {
  readonly #setup: LetterSaverSetup
  readonly #send: Resilient<[DeadLetter], void>
  readonly #drainer: SpillDrainer | undefined
  #storeError: unknown
  readonly #releaseSpill: (() => void) | undefined

  constructor(setup: LetterSaverSetup) {
    this.#setup = setup
    const { deadLetters, clock, spill, observer } = setup
    this.#releaseSpill = spill && reserveSpill(spill, deadLetters)
    const send = (letter: DeadLetter) =>
      isVerified(letter) ? deadLetters.send(letter) : sendVerified(deadLetters, letter)
    const limits = { name: 'dead-letter store', clock, timeoutMs: SAVE_TIMEOUT_MS }
    this.#send = resilient(send, {
      ...limits,
      // Without a spill there is nowhere else to go, so the store is asked every time.
      ...(spill === undefined
        ? {}
        : { breaker: { failures: 1, openMs: STORE_BREAKER_OPEN_MS, successes: 1 } }),
    })
    this.#drainer = spill && new SpillDrainer({ spill, send: resilient(send, limits), observer, clock })
  }

  /** Moves on what an earlier process left in the spill. */
  async start(): Promise<void> {
    await this.#drainer?.start()
  }

  /** Undefined if no letter waits in the spill. */
  get spillHealth(): SpillHealth | undefined {
    return this.#drainer?.health
  }

  /**
   * Rejects when neither the store nor the spill took the letter: then its event must not be acknowledged. `again`: the
   * letter was saved before, and says more now.
   */
  async save(letter: DeadLetter, again = false): Promise<'saved' | 'spilled'> {
    const { observer, spill } = this.#setup
    const { channel, handler: name } = letter
    try {
      await this.#send(letter)
      if (observer.letterSaved) observe(observer, 'letterSaved', letterKept(letter, again))
      return 'saved'
    } catch (error) {
      this.#explain(error)
      if (observer.letterWriteFailed) observe(observer, 'letterWriteFailed', { channel, name, error, letter })
      if (spill === undefined) throw new LetterNotSavedError(letter, error)
      await this.#spill(spill, letter, again, error)
      return 'spilled'
    }
  }

  /** Spilled letters are safe, and are tried once more: the next process may start on another machine. */
  async close(): Promise<void> {
    await this.#drainer?.close()
    this.#releaseSpill?.()
  }

  /** A refusal of the breaker gets the last error of the store as its cause: only that error says what is wrong. */
  #explain(error: unknown): void {
    if (error instanceof BreakerOpenError) error.cause ??= this.#storeError
    else this.#storeError = error
  }

  async #spill(spill: Spill, letter: DeadLetter, again: boolean, storeError: unknown): Promise<void> {
    const { observer } = this.#setup
    const { channel, handler: name } = letter
    let isStored = false
    try {
      await spill.send(letter)
      isStored = true
    } catch (error) {
      if (observer.letterWriteFailed) observe(observer, 'letterWriteFailed', { channel, name, error, letter })
      throw new LetterNotSavedError(
        letter,
        new AggregateError([storeError, error], 'store and spill both failed'),
      )
    } finally {
      this.#drainer?.letterSent(isStored)
    }
    if (observer.letterSpilled) observe(observer, 'letterSpilled', letterKept(letter, again))
  }
}

export function isStore(
  deadLetters: DeadLetterQueue | DeadLetterStore | undefined,
): deadLetters is DeadLetterStore {
  return deadLetters !== undefined && 'change' in deadLetters
}

/**
 * An event claims to be a replay, and only its stored letter can confirm that. A letter that was spilled while the store was
 * unreadable is checked here. A dead-letter queue cannot be read, so it gets the letter unchecked.
 */
async function sendVerified(
  deadLetters: DeadLetterQueue | DeadLetterStore,
  letter: DeadLetter,
): Promise<void> {
  if (!('get' in deadLetters)) return deadLetters.send(letter)
  for (const each of await splitVerified(letter, id => deadLetters.get(id))) await deadLetters.send(each)
}

function letterKept(letter: DeadLetter, again: boolean): LetterObservation {
  const { channel, handler: name } = letter
  return again ? { channel, name, letter, again } : { channel, name, letter }
}

/** Neither the store nor the spill saved the letter. Its event is not acknowledged, so the broker delivers it again. */
export class LetterNotSavedError extends LazaretError {
  override readonly name = 'LetterNotSavedError'

  constructor(letter: DeadLetter, cause: unknown) {
    super(
      `dead letter ${letter.id} of channel '${letter.channel}': not saved, so its event is not acknowledged; check the store, or configure a spill`,
      { code: 'LAZARET_LETTER_NOT_SAVED', retryable: true, cause },
    )
  }
}

/** The timeout of a notifier. After it the notice counts as failed. */
const NOTICE_TIMEOUT_MS = 30_000

/** The observer and the fault counter for failed notices. */
interface NoticeSetup {
  readonly observer: Observer
  readonly clock: Clock
  readonly faults: UserFaults
}

/** Telling people is not on the event's way: whether it works changes nothing for the event. Never rejects. */
export async function notifyOfLetter(
  notifier: Notifier,
  letter: DeadLetter,
  { observer, clock, faults }: NoticeSetup,
): Promise<void> {
  const { channel, handler: name, updatedAt: at } = letter
  try {
    const kind = isPoison(letter) ? 'poison_quarantined' : 'dead_letter'
    const told = Promise.resolve(notifier.notify({ kind, at, failed: failedEvent(letter), letter }))
    if (!(await settlesWithin(clock, NOTICE_TIMEOUT_MS, told)))
      throw new TimeoutError('notifier', NOTICE_TIMEOUT_MS)
    await told
  } catch (error) {
    faults.report('notifier', error, { letter })
    observe(observer, 'noticeFailed', { channel, name, error, letter })
  }
}

export function isPoison({ cycle: { reason } }: DeadLetter): boolean {
  return reason === 'poison' || reason === 'crash_loop'
}

/** Tells of every letter that was made durable, once: one that is saved again only says more. */
export function letterNotices(notifier: Notifier, setup: NoticeSetup): Observer {
  const tell = ({ letter, again }: LetterObservation) => {
    if (!again) void notifyOfLetter(notifier, letter, setup)
  }
  return { letterSaved: tell, letterSpilled: tell }
}
