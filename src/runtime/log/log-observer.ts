import { failedEvent } from '../../core/dead-letter/failed-event.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { DEFAULT_MASKS, type Masks } from '../../core/dead-letter/masks.ts'
import { quarantines, type Reason } from '../../core/dead-letter/reason.ts'
import { ErrorNameMasker, type ErrorSubject, masksOfSubject } from '../../core/dead-letter/subject-masks.ts'
import { CauseWalk } from '../../core/failure/chain.ts'
import { bounded, MESSAGE_MAX, stackOf } from '../../core/failure/thrown.ts'
import { type Resolved, resolveOptions } from '../../core/options/resolve.ts'
import { integer, milliseconds, withDefault } from '../../core/options/rules.ts'
import { backgroundClock, type Clock } from '../../ports/clock.ts'
import type { LogFields, Logger } from '../../ports/logger.ts'
import type { Observer } from '../../ports/observer.ts'
import { EVERY_SINK } from '../dispatcher/track/entry-limit.ts'
import { port } from '../option-rules.ts'
import {
  type AggregatedBy,
  type AggregatedLine,
  LogAggregator,
  type LogLine,
  writeLine,
} from './aggregator.ts'
import { AGGREGATED_LINES, BREAKER_LINES, LINES, PAUSE_LINES } from './lines.ts'

const DEFAULT_REPEAT_MS = 60_000
const DEFAULT_MAX_AGGREGATED = 50

/** Options of `logObserver()`. */
export interface LogObserverOptions {
  /** The masks for error texts [the built-in masks]. */
  readonly masks?: Masks | undefined
  /** The interval of aggregated lines, in ms [60 000]. */
  readonly repeatMs?: number | undefined
  /** The greatest number of combinations of fields that lines of one kind are aggregated by; others share a line [50]. */
  readonly maxAggregated?: number | undefined
  /** [the system's; a timer of it does not keep the process alive] */
  readonly clock?: Clock | undefined
}

/** An observer that writes log lines. */
export type LogObserver = Observer & {
  /** Writes the counts that wait for the end of their interval: call it when the process ends. */
  flush(): void
}

const rules = {
  masks: withDefault(port<Masks>('masks of createMasks', 'maskText'), DEFAULT_MASKS),
  repeatMs: withDefault(milliseconds({ min: 1 }), DEFAULT_REPEAT_MS),
  maxAggregated: withDefault(integer({ min: 1, max: 10_000 }), DEFAULT_MAX_AGGREGATED),
  clock: withDefault(port<Clock>('a clock', 'now', 'schedule'), backgroundClock),
}

/**
 * An observer that writes one line for each change of state, and none for an event that succeeds. Events that can
 * happen ten thousand times a second are counted and written together. One may watch any number of consumers and
 * dispatchers.
 */
export function logObserver(logger: Logger, options: LogObserverOptions = {}): LogObserver {
  return new Log(logger, resolveOptions('logObserver', rules, options)).observer
}

/** An event that a dispatcher gave up on unasked. They come by the thousand, when a sink is down, and say the same. */
const HELD_BACK: ReadonlySet<Reason> = new Set([
  'breaker_open',
  'buffer_full',
  'shutdown',
  'tracking_failed_in_job',
])

class Log {
  readonly #logger: Logger
  readonly #masks: Masks
  readonly #errorNames: ErrorNameMasker
  readonly #aggregator: LogAggregator
  /** The dependencies whose health check failed. */
  readonly #sick = new Set<string>()

  constructor(logger: Logger, { masks, clock, repeatMs, maxAggregated }: Resolved<typeof rules>) {
    this.#logger = logger
    this.#masks = masks
    this.#errorNames = new ErrorNameMasker(masks)
    this.#aggregator = new LogAggregator({ logger, clock, repeatMs, maxAggregated })
  }

  readonly observer: LogObserver = {
    breakerChanged: ({ name, from, to }) => {
      if (to === 'closed') this.#sick.delete(name)
      this.#write(BREAKER_LINES[to], { name, from })
    },
    consumerPaused: ({ channel, name, reason }) =>
      this.#write(PAUSE_LINES[reason], { channel, name, reason }),
    consumerResumed: ({ channel, name }) => this.#write(LINES.consumerResumed, { channel, name }),
    subscriptionStalled: ({ channel, name, place, error }) =>
      this.#write(LINES.stalled, { channel, name, place, ...this.#err(error) }),
    subscriptionRecovered: ({ channel, name, place }) =>
      this.#write(LINES.recovered, { channel, name, place }),
    letterSaved: ({ letter, again }) => {
      if (!again) this.#letter(letter)
    },
    letterSpilled: ({ channel, name, letter, again }) => {
      if (again) return
      this.#letter(letter)
      this.#aggregator.tell(AGGREGATED_LINES.spilled, { channel, name })
    },
    spillDrained: ({ count }) => this.#write(LINES.spillDrained, { count }),
    spillDrainFailed: ({ error, letter }) =>
      this.#tellFault(AGGREGATED_LINES.spillDrainFailed, {}, error, { letter }),
    lettersExpired: ({ store, count, byState }) =>
      this.#write(LINES.lettersExpired, { store, count, ...byState }),
    poisonQuarantined: ({ by, letter }) =>
      this.#write(LINES.poison, { ...failedEvent(letter, this.#masks), by }),
    letterWriteFailed: ({ channel, name, error, letter }) =>
      this.#tellFault(AGGREGATED_LINES.letterWriteFailed, { channel, name }, error, { letter }),
    settlementFailed: ({ channel, name, error }) =>
      this.#tellFault(AGGREGATED_LINES.settlementFailed, { channel, name }, error),
    userFunctionFailed: ({ name, function: which, error, event, letter }) =>
      this.#tellFault(AGGREGATED_LINES.userFunctionFailed, { name, function: which }, error, {
        event,
        letter,
      }),
    lateRun: ({ channel, name, state }) => {
      if (state === 'running') this.#aggregator.tell(AGGREGATED_LINES.lateRuns, { channel, name })
    },
    ledgerFailed: ({ channel, name, operation, error }) =>
      this.#tellFault(AGGREGATED_LINES.ledgerFailed, { channel, name, operation }, error),
    claimLost: ({ channel, name }) => this.#aggregator.tell(AGGREGATED_LINES.claimsLost, { channel, name }),
    noticeFailed: ({ channel, name, error, letter }) =>
      this.#tellFault(AGGREGATED_LINES.noticeFailed, { channel, name }, error, { letter }),
    journalFailed: ({ error }) => this.#tellFault(AGGREGATED_LINES.journalFailed, {}, error),
    sharedLimitChanged: ({ name, limit, mode, members }) =>
      this.#write(mode === 'alone' ? LINES.limitAlone : LINES.limitTogether, { name, limit, members }),
    trackingFailureSwallowed: ({ job, errorName, reason, event }) =>
      this.#aggregator.tell(AGGREGATED_LINES.trackingSwallowed, {
        job,
        errorName: this.#errorNames.mask(errorName, { event }),
        reason,
      }),
    healthChecked: ({ name, healthy }) => this.#health(name, healthy),
    eventLimited: ({ type, became }) =>
      this.#aggregator.tell(
        became === 'unsaved' ? AGGREGATED_LINES.limitedUnsaved : AGGREGATED_LINES.limited,
        {
          type,
          became,
        },
      ),
    retryLimited: ({ name, action }) =>
      this.#aggregator.tell(AGGREGATED_LINES.retriesLimited, { name, action }),
    budgetExhausted: ({ name }) => this.#aggregator.tell(AGGREGATED_LINES.budgetExhausted, { name }),
    eventDropped: ({ name, type, reason }) =>
      this.#aggregator.tell(AGGREGATED_LINES.dropped, { name, type, reason }),
    flush: () => this.#aggregator.flush(),
  }

  #letter(letter: DeadLetter): void {
    const { handler, cycle, origin } = letter
    const { reason, attemptCount } = cycle
    // Poison has its own line, and events that the entry limit refused are counted by type.
    if (quarantines(reason) || (handler === EVERY_SINK && reason === 'rate_limited')) return
    const isTracked = Object.keys(origin).length === 0
    if (attemptCount === 0 && isTracked && HELD_BACK.has(reason))
      this.#aggregator.tell(AGGREGATED_LINES.untried, { name: handler, reason })
    else this.#write(LINES.deadLetter, { ...failedEvent(letter, this.#masks) })
  }

  #health(name: string, healthy: boolean): void {
    if (healthy === !this.#sick.has(name)) return
    if (healthy) this.#sick.delete(name)
    else this.#sick.add(name)
    this.#write(healthy ? LINES.healthPassed : LINES.healthFailed, { name })
  }

  #write(line: LogLine, fields: LogFields): void {
    writeLine(this.#logger, line, fields)
  }

  #tellFault(line: AggregatedLine, by: AggregatedBy, error: unknown, subject?: ErrorSubject): void {
    this.#aggregator.tell(line, by, () => this.#err(error, subject))
  }

  #err(error: unknown, subject: ErrorSubject = {}): LogFields {
    return { err: errorFields(error, masksOfSubject(subject, this.#masks)) }
  }
}

/**
 * The fields of an error that may be logged: masked texts only. Other properties of an error may hold a payload or a request.
 * The object has no constructor, so that pino's serializer of errors takes the type from `name` and keeps the other fields.
 */
function errorFields(error: unknown, masks: Masks): object {
  const chain = new CauseWalk().chainFrom(error)
  const type = masks.maskText(chain[0].name)
  const code = chain.find(one => one.code !== undefined)?.code
  const messages = [...new Set(chain.map(one => one.message))].join(': ')
  const stack = stackOf(error)
  const fields = {
    type,
    // Followed by those of its causes.
    message: bounded(masks.maskText(messages), MESSAGE_MAX),
    ...(code === undefined ? {} : { code: masks.maskText(code) }),
    ...(stack === undefined ? {} : { stack: masks.maskText(stack) }),
  }
  return Object.defineProperty(Object.assign(Object.create(null), fields), 'name', { value: type })
}
