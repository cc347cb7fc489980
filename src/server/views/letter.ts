import { allCycles } from '../../core/dead-letter/cycles.ts'
import { groupingForDisplay, masksOfLetter } from '../../core/dead-letter/event-masks.ts'
import { groupingOf } from '../../core/dead-letter/group.ts'
import type { AttemptFailure, AttemptRecord, Cycle, DeadLetter } from '../../core/dead-letter/letter.ts'
import { maskEvent, maskFacts } from '../../core/dead-letter/mask-letter.ts'
import { MASK } from '../../core/dead-letter/mask-text.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import { reasonText } from '../../core/dead-letter/reason.ts'
import { traceContextOf } from '../../core/event/trace-context.ts'
import type { KeyUnblocker } from '../../operations/unblock-keys.ts'
import { iso, isoOr, type Json } from '../schema/common.ts'
import type {
  Attempt,
  Cycle as CycleJson,
  Failure,
  LetterDetail,
  LetterEvent,
  LetterSummary,
  StillBlocked,
} from '../schema/letters.ts'
import { pick } from './pick.ts'

export function letterSummary(
  store: string,
  letter: DeadLetter,
  masks: Masks,
  own: Masks = masksOfLetter(letter, masks),
): LetterSummary {
  const { event, cycle } = letter
  const { failure } = cycle
  return {
    ...pick(
      letter,
      'id',
      'channel',
      'handler',
      'state',
      'replays',
      'replayId',
      'expiresAfterMs',
      'autoReplay',
      'ordering',
      'release',
      'host',
    ),
    ...pick(cycle, 'reason', 'category'),
    store,
    group: groupingOf(letter).id,
    eventId: event.id,
    type: event.type,
    key: event.key === undefined ? undefined : own.maskText(event.key),
    failure: failure && {
      name: own.maskText(failure.name),
      message: own.maskText(failure.message),
      code: failure.code === undefined ? undefined : own.maskText(failure.code),
    },
    attempts: cycle.attemptCount,
    firstFailedAt: iso(cycle.firstFailedAt),
    lastFailedAt: iso(cycle.lastFailedAt),
    createdAt: iso(letter.createdAt),
    updatedAt: iso(letter.updatedAt),
    expiresAt: isoOr(letter.expiresAt),
  }
}

/** So many ids are in one sentence. The field `ids` has all of them. */
const MAX_IDS_IN_TEXT = 20

/** The field `stillBlocked` of an answer, or nothing when no key is blocked. */
export function withBlockedKeys(all: readonly KeyUnblocker[]): { stillBlocked?: StillBlocked } {
  const ids = all.flatMap(({ blocked }) => blocked.map(({ letterId }) => letterId))
  if (ids.length === 0) return {}
  const problems = all.flatMap(keys => keys.problems(MAX_IDS_IN_TEXT))
  return { stillBlocked: { count: ids.length, ids, problems } }
}

/** All fields of the letter itself, masked. */
export function letterDetailView(
  store: string,
  letter: DeadLetter,
  masks: Masks,
): Omit<LetterDetail, 'destination' | 'audit'> {
  const { event, origin, detail, metadata, cycle } = letter
  const own = masksOfLetter(letter, masks)
  return {
    ...letterSummary(store, letter, masks, own),
    reasonText: reasonText(cycle.reason),
    grouping: groupingForDisplay(letter, masks),
    event: eventView(letter, masks, own),
    origin: originView(origin, own),
    detail: (detail && maskFacts('detail', detail, own)) as Record<string, Json> | undefined,
    metadata: (metadata && maskFacts('metadata', metadata, own)) as Record<string, Json> | undefined,
    ...pick(letter, 'job', 'droppedCycles'),
    cycles: cyclesView(letter, own),
    traceId: traceContextOf(event)?.traceId,
  }
}

function eventView({ event }: DeadLetter, masks: Masks, own: Masks): LetterEvent {
  const masked = maskEvent(event, masks, own) as Readonly<Record<string, Json>>
  const text = (name: 'key' | 'source') =>
    event[name] === undefined ? undefined : String(masked[name] ?? MASK)
  return {
    ...pick(event, 'id', 'type', 'channel'),
    key: text('key'),
    idempotencyKey: String(masked['idempotencyKey'] ?? MASK),
    occurredAt: iso(event.occurredAt),
    expiresAt: isoOr(event.expiresAt),
    source: text('source'),
    headers: typeof masked['headers'] === 'object' ? (masked['headers'] as Record<string, string>) : {},
    payload: masked['payload'] ?? null,
  }
}

function originView(origin: DeadLetter['origin'], masks: Masks): Record<string, string | number> {
  const told = Object.entries(origin).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, typeof value === 'string' ? masks.maskText(value) : value] as const],
  )
  return Object.fromEntries(told)
}

/** Oldest cycle first, the current one last. `masks` are the masks for texts about the event. */
function cyclesView(letter: DeadLetter, masks: Masks): CycleJson[] {
  return allCycles(letter).map(cycle => cycleView(cycle, masks))
}

function cycleView(cycle: Cycle, masks: Masks): CycleJson {
  const { reason, failure, attempts } = cycle
  return {
    ...pick(cycle, 'number', 'reason', 'category', 'attemptCount', 'replayId', 'replayedBy'),
    reasonText: reasonText(reason),
    failure: failure && failureView({ ...failure, fingerprint: failure.fingerprint.id }, masks),
    attempts: attempts.map(attempt => attemptView(attempt, masks)),
    firstFailedAt: iso(cycle.firstFailedAt),
    lastFailedAt: iso(cycle.lastFailedAt),
    endedAt: isoOr(cycle.endedAt),
  }
}

function attemptView(attempt: AttemptRecord, masks: Masks): Attempt {
  const { number, startedAt, endedAt, failure, delayMs } = attempt
  return {
    number,
    startedAt: iso(startedAt),
    endedAt: isoOr(endedAt),
    failure: failure && failureView(failure, masks),
    delayMs,
  }
}

function failureView(failure: AttemptFailure, masks: Masks): Failure {
  const { name, message, code, category, fingerprint, stack } = failure
  return {
    name: masks.maskText(name),
    message: masks.maskText(message),
    code: code === undefined ? undefined : masks.maskText(code),
    category,
    fingerprint,
    stack: stack === undefined ? undefined : masks.maskText(stack),
  }
}
