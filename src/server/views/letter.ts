import { groupingOf } from '../../core/dead-letter/group.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { maskForDisplay } from '../../core/dead-letter/mask.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import { reasonText } from '../../core/dead-letter/reason.ts'
import { traceContextOf } from '../../core/event/trace-context.ts'
import type { Json } from '../schema/common.ts'
import type { Grouping, LetterDetail, LetterEvent, LetterSummary } from '../schema/letters.ts'
import { cyclesView } from './cycles.ts'
import { iso, isoOr } from './times.ts'

export function letterSummary(store: string, letter: DeadLetter, masks: Masks): LetterSummary {
  const { id, channel, handler, state, event, cycle, replays, replayId, release, host } = letter
  const { failure } = cycle
  return {
    id,
    store,
    channel,
    handler,
    state,
    reason: cycle.reason,
    category: cycle.category,
    group: groupingOf(letter).id,
    eventId: event.id,
    type: event.type,
    key: event.key === undefined ? undefined : masks.maskText(event.key),
    failure: failure && {
      name: masks.maskText(failure.name),
      message: masks.maskText(failure.message),
      code: failure.code,
    },
    attempts: cycle.attemptCount,
    replays,
    replayId,
    firstFailedAt: iso(cycle.firstFailedAt),
    lastFailedAt: iso(cycle.lastFailedAt),
    createdAt: iso(letter.createdAt),
    updatedAt: iso(letter.updatedAt),
    expiresAt: isoOr(letter.expiresAt),
    release,
    host,
  }
}

/** Everything that the letter itself tells, masked. */
export function letterStory(
  store: string,
  letter: DeadLetter,
  masks: Masks,
): Omit<LetterDetail, 'destination' | 'audit'> {
  const { event, origin, detail, job, droppedCycles, cycle } = letter
  return {
    ...letterSummary(store, letter, masks),
    reasonText: reasonText(cycle.reason),
    grouping: groupingView(groupingOf(letter), masks),
    event: eventView(letter, masks),
    origin: originView(origin, masks),
    detail: detail && (maskForDisplay(detail, { ...masks, paths: [] }) as Record<string, Json>),
    job,
    cycles: cyclesView(letter, masks),
    droppedCycles,
    traceId: traceContextOf(event)?.traceId,
  }
}

/** A title and a basis are made of error messages, so they are masked like them. */
export function groupingView({ id, title, rule, basis }: Grouping, masks: Masks): Grouping {
  return { id, title: masks.maskText(title), rule, basis: masks.maskText(basis) }
}

function eventView({ event }: DeadLetter, masks: Masks): LetterEvent {
  const { id, type, channel, idempotencyKey, occurredAt, expiresAt } = event
  const masked = maskForDisplay(event, masks) as Readonly<Record<string, Json>>
  const text = (name: 'key' | 'source') => (event[name] === undefined ? undefined : String(masked[name]))
  return {
    id,
    type,
    channel,
    key: text('key'),
    idempotencyKey: masks.maskText(idempotencyKey),
    occurredAt: iso(occurredAt),
    expiresAt: isoOr(expiresAt),
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
