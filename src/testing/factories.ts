import { createLetter, type LetterInput, summariseFailure } from '../core/dead-letter/create.ts'
import type { AttemptRecord, DeadLetter } from '../core/dead-letter/letter.ts'
import { createEvent, type EventInput, type LazaretEvent } from '../core/event/event.ts'
import { createIdSource } from '../core/event/uuid.ts'
import { classify } from '../core/failure/classify.ts'
import type { Random } from '../core/random.ts'
import type { Clock } from '../ports/clock.ts'
import { FakeClock } from './fake-clock.ts'
import { seededRandom } from './seeded-random.ts'

const REFUSED = 'connect ECONNREFUSED 127.0.0.1:5432'

/** Fails at the same place wherever and however this module was loaded, so that all letters are in one group. */
function refusedConnection(): Error {
  const stack = `Error: ${REFUSED}\n    at connect (/app/database.ts:7:11)`
  return Object.assign(new Error(REFUSED), { code: 'ECONNREFUSED', stack })
}

/** Options of `createFactory()`. */
export interface FactoryOptions {
  /** Supplies the time of events and letters [a new `FakeClock`]. */
  readonly clock?: Pick<Clock, 'now'> | undefined
  /** Supplies the random numbers for ids [`seededRandom(1)`: the same ids on every run]. */
  readonly random?: Random | undefined
}

/** The fields of a letter that a test sets. */
export interface TestLetterInput extends Partial<LetterInput> {
  /** The error of its attempts [a refused connection]. */
  readonly error?: unknown
}

/** Makes events, letters and attempts for tests. */
export interface Factory {
  /** An event of channel `orders` and type `order.placed`, unless the input says otherwise. */
  event(input?: Partial<EventInput>): LazaretEvent
  events(count: number, input?: Partial<EventInput>): LazaretEvent[]
  /** A letter of its own event and of handler `bill`, after one attempt, which failed at the time of the letter. */
  letter(input?: TestLetterInput): DeadLetter
  /** An attempt that failed. */
  attempt(number: number, input?: Partial<AttemptRecord>): AttemptRecord
}

/** Makes events and letters with defaults, so that a test sets only the fields that matter to it. */
export function createFactory(options: FactoryOptions = {}): Factory {
  const { clock = new FakeClock(), random = seededRandom(1) } = options
  const newId = createIdSource(random)

  function event(input: Partial<EventInput> = {}): LazaretEvent {
    return createEvent(
      { type: 'order.placed', channel: 'orders', payload: { amount: 42 }, ...input },
      { now: clock.now(), newId },
    )
  }

  function attempt(number: number, input: Partial<AttemptRecord> = {}): AttemptRecord {
    const at = clock.now()
    const failure = summariseFailure(classify(refusedConnection()))
    return { number, startedAt: at, endedAt: at, failure, delayMs: undefined, ...input }
  }

  return {
    event,
    attempt,
    events: (count, input) => Array.from({ length: count }, () => event(input)),
    letter: ({ error = refusedConnection(), at = clock.now(), ...input } = {}) =>
      createLetter({
        event: event(input.channel === undefined ? {} : { channel: input.channel }),
        handler: 'bill',
        reason: 'attempts_exhausted',
        at,
        failure: classify(error),
        attempts: [attempt(1, { startedAt: at, endedAt: at })],
        ...input,
      }),
  }
}
