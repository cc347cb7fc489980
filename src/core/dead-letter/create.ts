import type { JsonValue, LazaretEvent } from '../event/event.ts'
import type { Failure } from '../failure/failure.ts'
import { capText, DEFAULT_LETTER_CAPS, keepFirstAndLatest, type LetterCaps } from './caps.ts'
import { letterId } from './identity.ts'
import type { AttemptFailure, AttemptRecord, Cycle, DeadLetter, EveryField, Origin } from './letter.ts'
import { REASONS, type Reason } from './reason.ts'
import { DEFAULT_REPLAY_LIMIT, stateAfterFailure } from './state.ts'
import { detailWith, storableEvent } from './storable-event.ts'
import { storableOrigin } from './storable-origin.ts'
import type { TimeToLive } from './time-to-live.ts'

export interface LetterInput {
  readonly event: LazaretEvent
  /** The handler or sink that gave up. */
  readonly handler: string
  readonly reason: Reason
  /** The time at which the handler or sink gave up. */
  readonly at: number
  /** Default: the channel of the event. */
  readonly channel?: string | undefined
  readonly failure?: Failure | undefined
  readonly attempts?: readonly AttemptRecord[] | undefined
  /** Default: the number of `attempts`. */
  readonly attemptCount?: number | undefined
  readonly origin?: Origin | undefined
  /** The number of the replay. Default: 0, the event is not a replay. */
  readonly replay?: number | undefined
  readonly replayId?: string | undefined
  readonly replayedBy?: string | undefined
  /** The letter could not be read, so nobody has verified that the event is this replay. */
  readonly isUnverified?: boolean | undefined
  /** Default: `at` and `expiresAfterMs`, if that is a number. */
  readonly expiresAt?: number | undefined
  readonly expiresAfterMs?: TimeToLive | undefined
  /** Whether automatic replay may send it. Default: false. */
  readonly autoReplay?: boolean | undefined
  /** The ordering of the consumer. Default: unknown. */
  readonly ordering?: DeadLetter['ordering']
  readonly detail?: Readonly<Record<string, JsonValue>> | undefined
  readonly metadata?: Readonly<Record<string, JsonValue>> | undefined
  readonly job?: string | undefined
  readonly release?: string | undefined
  readonly host?: string | undefined
}

interface LetterSettings {
  readonly caps?: LetterCaps | undefined
  readonly replayLimit?: number | undefined
}

/**
 * Creates the letter of one failed cycle, within the caps. Its event is one that every store can keep. A store merges the
 * letter with the version that it already has.
 */
export function createLetter(input: LetterInput, settings: LetterSettings = {}): DeadLetter {
  const { caps = DEFAULT_LETTER_CAPS, replayLimit = DEFAULT_REPLAY_LIMIT } = settings
  const { handler, reason, at, failure, attempts = [], replay = 0, channel = input.event.channel } = input
  const { event, lost } = storableEvent(input.event)
  const firstFailed = attempts.find(hasFailed)
  const lastFailed = attempts.findLast(hasFailed)
  const cycle: Cycle = {
    number: replay,
    reason,
    category: failure?.category ?? REASONS[reason].category,
    failure: failure && summarise(failure, failure.fingerprint, caps),
    attempts: keepFirstAndLatest(attempts, caps.maxAttempts),
    attemptCount: input.attemptCount ?? attempts.length,
    firstFailedAt: endOf(firstFailed) ?? at,
    lastFailedAt: endOf(lastFailed) ?? at,
    replayId: input.replayId,
    replayedBy: input.replayedBy,
    endedAt: undefined,
  }
  return {
    v: 1,
    id: letterId(channel, handler, event),
    channel,
    handler,
    event,
    origin: storableOrigin(input.origin),
    state: stateAfterFailure(reason, replay, replayLimit),
    cycle: input.isUnverified ? { ...cycle, isUnverified: true } : cycle,
    endedCycles: [],
    droppedCycles: 0,
    replays: replay,
    replayId: input.replayId,
    createdAt: at,
    updatedAt: at,
    expiresAt: input.expiresAt ?? expiryOf(at, input.expiresAfterMs),
    expiresAfterMs: input.expiresAfterMs,
    autoReplay: input.autoReplay === true ? true : undefined,
    ordering: input.ordering,
    detail: detailWith(input.detail, lost),
    metadata: input.metadata,
    job: input.job,
    release: input.release,
    host: input.host,
  } satisfies EveryField<DeadLetter>
}

function expiryOf(at: number, expiresAfterMs: TimeToLive | undefined): number | undefined {
  return typeof expiresAfterMs === 'number' ? at + expiresAfterMs : undefined
}

function hasFailed({ failure }: AttemptRecord): boolean {
  return failure !== undefined
}

function endOf(attempt: AttemptRecord | undefined): number | undefined {
  return attempt?.endedAt ?? attempt?.startedAt
}

/** The part of a failure that an attempt keeps, within the caps. */
export function summariseFailure(
  failure: Failure,
  fingerprint: string = failure.fingerprint.id,
  caps: LetterCaps = DEFAULT_LETTER_CAPS,
): AttemptFailure {
  return summarise(failure, fingerprint, caps)
}

function summarise<F>(
  failure: Failure,
  fingerprint: F,
  caps: LetterCaps,
): Omit<AttemptFailure, 'fingerprint'> & { readonly fingerprint: F } {
  const keepsStack = caps.keepStack && failure.stack !== undefined
  return {
    name: failure.name,
    message: capText(failure.message, caps.maxMessageBytes),
    code: failure.code,
    category: failure.category,
    stack: keepsStack ? capText(failure.stack, caps.maxStackBytes) : undefined,
    fingerprint,
  }
}
