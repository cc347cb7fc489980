import * as z from 'zod'
import { LETTER_STATES } from '../../core/dead-letter/state.ts'
import { CATEGORIES } from '../../core/failure/verdict.ts'
import { auditEntry } from './audit.ts'
import { count, cursor, faults, id, json, limit, reason, storeName, time, who } from './common.ts'

export const letterState = z.enum(LETTER_STATES)
export type LetterState = z.infer<typeof letterState>

export const category = z.enum(CATEGORIES)
export type Category = z.infer<typeof category>

const word = z.string().min(1).max(500)

/** What letters can be asked for by; the same as on the command line. */
export const letterFilter = z.strictObject({
  channel: word.optional(),
  handler: word.optional(),
  type: word.optional(),
  /** Why it was given up on: one of this version's reasons, or of a newer writer's. */
  reason: word.optional(),
  category: category.optional(),
  state: letterState.optional(),
  group: word.optional(),
  /** Last failed at or after, before. */
  after: time.optional(),
  before: time.optional(),
  /** Found in the error, or in the event's id, key or type, whatever its case. */
  search: word.optional(),
})
export type LetterFilter = z.infer<typeof letterFilter>

export const letterStatsQuery = letterFilter.extend({ store: storeName.optional() })
export const letterQuery = letterStatsQuery.extend({ limit: limit(500, 100), cursor: cursor.optional() })

export const failure = z.object({
  name: z.string(),
  message: z.string(),
  code: z.string().optional(),
  category,
  /** A fingerprint's id. */
  fingerprint: z.string(),
  stack: z.string().optional(),
})
export type Failure = z.infer<typeof failure>

/** A letter in a list: no payload, no stack. */
export const letterSummary = z.object({
  id,
  store: storeName,
  channel: z.string(),
  handler: z.string(),
  state: letterState,
  reason: z.string(),
  category,
  group: z.string(),
  eventId: z.string(),
  type: z.string(),
  key: z.string().optional(),
  /** Absent when no attempt was made. */
  failure: failure.pick({ name: true, message: true, code: true }).optional(),
  attempts: count,
  replays: count,
  /** One that begins with `sql-` is of `outbox_replay` in Postgres: no replay is kept for it. */
  replayId: z.string().optional(),
  firstFailedAt: time,
  lastFailedAt: time,
  createdAt: time,
  updatedAt: time,
  expiresAt: time.optional(),
  release: z.string().optional(),
  host: z.string().optional(),
})
export type LetterSummary = z.infer<typeof letterSummary>

export const letterPage = z.object({
  letters: z.array(letterSummary),
  cursor: cursor.optional(),
  faults,
})
export type LetterPage = z.infer<typeof letterPage>

export const letterStats = z.object({
  count,
  /** There are more: with a text to search for in very many letters, counting ends at some hundreds. */
  atLeast: z.boolean().optional(),
  oldestAt: time.optional(),
  newestAt: time.optional(),
  byState: z.partialRecord(letterState, count),
  byReason: z.record(z.string(), count),
  byChannel: z.record(z.string(), count),
  faults,
})
export type LetterStats = z.infer<typeof letterStats>

export const attempt = z.object({
  number: z.int(),
  startedAt: time,
  /** Absent: it never ended, the process died under it. */
  endedAt: time.optional(),
  failure: failure.optional(),
  /** The wait chosen after it. */
  delayMs: z.number().optional(),
})
export type Attempt = z.infer<typeof attempt>

export const cycle = z.object({
  /** 0 is the first cycle, n the nth replay. */
  number: z.int(),
  reason: z.string(),
  /** The reason as a sentence. */
  reasonText: z.string(),
  category,
  failure: failure.optional(),
  attempts: z.array(attempt),
  attemptCount: count,
  firstFailedAt: time,
  lastFailedAt: time,
  replayId: z.string().optional(),
  replayedBy: z.string().optional(),
  endedAt: time.optional(),
})
export type Cycle = z.infer<typeof cycle>

/** The event as it may be shown. Bytes are told by their number until they are revealed. */
export const letterEvent = z.object({
  id: z.string(),
  type: z.string(),
  channel: z.string(),
  key: z.string().optional(),
  idempotencyKey: z.string(),
  occurredAt: time,
  expiresAt: time.optional(),
  source: z.string().optional(),
  headers: z.record(z.string(), z.string()),
  payload: json,
})
export type LetterEvent = z.infer<typeof letterEvent>

/** Where a replay would send it. */
export const destination = z.object({
  channel: z.string(),
  handler: z.string(),
  /** The broker's name, or `this process` for what came from none; absent when nothing here can send it. */
  broker: z.string().optional(),
  /** Why a replay of it would not go now; absent when it would. */
  obstacle: z.string().optional(),
})
export type Destination = z.infer<typeof destination>

export const grouping = z.object({
  id: z.string(),
  title: z.string(),
  rule: z.enum(['explicit', 'frame', 'message', 'reason']),
  basis: z.string(),
})
export type Grouping = z.infer<typeof grouping>

export const letterDetail = letterSummary.extend({
  reasonText: z.string(),
  grouping,
  event: letterEvent,
  origin: z.record(z.string(), z.union([z.string(), z.number()])),
  /** What belongs to the reason, such as the limit of `rate_limited`. */
  detail: z.record(z.string(), json).optional(),
  job: z.string().optional(),
  /** Oldest first, the current one last; `droppedCycles` are left out behind the first. */
  cycles: z.array(cycle),
  droppedCycles: count,
  destination,
  /** Of the header `traceparent`. */
  traceId: z.string().optional(),
  /** Newest first. */
  audit: z.array(auditEntry),
})
export type LetterDetail = z.infer<typeof letterDetail>

export const reasonBody = z.strictObject({ reason })

/** What the masks hide, whole. */
export const revealedLetter = z.object({
  id,
  store: storeName,
  revealedBy: who,
  revealedAt: time,
  headers: z.record(z.string(), z.string()),
  key: z.string().optional(),
  /** A JSON payload; absent when it is bytes. */
  payload: json.optional(),
  payloadBase64: z.string().optional(),
})
export type RevealedLetter = z.infer<typeof revealedLetter>

const PREVIEW_FIRST = 'send POST /api/v1/dead-letters/purge/preview first, and copy the value from its answer'

export const purgePreviewBody = z.strictObject({ filter: letterFilter, store: storeName.optional() })
export type PurgePreviewBody = z.infer<typeof purgePreviewBody>

/** The letters that a purge would delete now. */
export const purgePreview = z.object({
  count,
  byState: z.partialRecord(letterState, count),
  /** When they were counted. Letters that fail later are not among them. */
  until: time,
  /** Of which letters there are, and of their states. */
  digest: z.string(),
})
export type PurgePreview = z.infer<typeof purgePreview>

export const purgeBody = z.strictObject({
  ...purgePreviewBody.shape,
  /** As the preview counted. When it is another number by now, nothing is deleted. */
  expectedCount: count,
  /** As the preview answered. */
  until: z.iso.datetime({ offset: true, error: PREVIEW_FIRST }),
  /** As the preview answered. When other letters match by now, or in other states, nothing is deleted. */
  digest: z.string({ error: PREVIEW_FIRST }).max(200),
  reason,
})
export type PurgeBody = z.infer<typeof purgeBody>

/** With several stores, one may fail after another has deleted: `faults` says which, `deleted` how many are gone at least. */
export const purged = z.object({ deleted: count, faults })
export type Purged = z.infer<typeof purged>
