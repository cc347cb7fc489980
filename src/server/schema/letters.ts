import * as z from 'zod'
import { LETTER_STATES } from '../../core/dead-letter/state.ts'
import { CATEGORIES } from '../../core/failure/classification.ts'
import { auditEntry } from './audit.ts'
import { count, cursor, faults, id, json, limit, reason, storeName, time, who } from './common.ts'

export const letterState = z.enum(LETTER_STATES).describe('The state of the letter.')
export type LetterState = z.infer<typeof letterState>

export const category = z.enum(CATEGORIES).describe('The category of the failure.')
export type Category = z.infer<typeof category>

const word = z.string().min(1).max(500)
const oneStore = storeName.optional().describe('Only this store. The default is all stores.')

/** The filter of the command line. A letter has to match every field that is given. */
export const letterFilter = z.strictObject({
  channel: word.optional().describe('Only letters of this channel.'),
  handler: word.optional().describe('Only letters of this handler or sink.'),
  type: word.optional().describe('Only letters of events with this type.'),
  // A newer writer may have reasons that this version does not know, so the schema takes any text.
  reason: word.optional().describe('Only letters with this reason, such as `attempts_exhausted`.'),
  category: category.optional().describe('Only letters whose failure has this category.'),
  state: letterState.optional().describe('Only letters in this state.'),
  group: word.optional().describe('Only letters of the group with this id.'),
  after: time.optional().describe('Only letters whose last failure is at or after this time.'),
  before: time.optional().describe('Only letters whose last failure is before this time.'),
  search: word
    .optional()
    .describe(
      'Only letters with this text in the error, or in the id, key or type of the event. Case is ignored.',
    ),
})
export type LetterFilter = z.infer<typeof letterFilter>

export const letterStatsQuery = letterFilter.extend({ store: oneStore })
export const letterQuery = letterStatsQuery.extend({ limit: limit(500, 100), cursor: cursor.optional() })

export const failure = z.object({
  name: z.string().describe('The name of the error, masked.'),
  message: z.string().describe('The message of the error, masked.'),
  code: z.string().optional().describe('The code of the error, masked. Absent when the error has none.'),
  category,
  fingerprint: z.string().describe('The id of the fingerprint: equal for failures with the same cause.'),
  stack: z
    .string()
    .optional()
    .describe('The stack of the error, masked. Absent when the letter does not have it.'),
})
export type Failure = z.infer<typeof failure>

/** A letter in a list: no payload, no stack. */
export const letterSummary = z.object({
  id: id.describe('The id of the letter.'),
  store: storeName,
  channel: z.string().describe('The channel of the event.'),
  handler: z.string().describe('The handler or sink that gave up on the event.'),
  state: letterState,
  reason: z
    .string()
    .describe('The rule by which Lazaret gave up on the event, such as `attempts_exhausted`.'),
  category,
  group: z.string().describe('The id of the group.'),
  eventId: z.string().describe('The id of the event.'),
  type: z.string().describe('The type of the event.'),
  key: z.string().optional().describe('The key of the event, masked. Absent when the event has none.'),
  failure: failure
    .pick({ name: true, message: true, code: true })
    .optional()
    .describe('The last failure. Absent when there was no attempt.'),
  attempts: count.describe('The number of attempts in the current cycle.'),
  replays: count.describe('The number of times that the event was replayed.'),
  replayId: z
    .string()
    .optional()
    .describe(
      'The id of the last replay. An id that begins with `sql-` comes from `outbox_replay` in Postgres: it has no replay to show.',
    ),
  firstFailedAt: time.describe('The time of the first failure in the current cycle.'),
  lastFailedAt: time.describe('The time of the last failure in the current cycle.'),
  createdAt: time.describe('The time at which the letter was created.'),
  updatedAt: time.describe('The time of the last change of the letter.'),
  expiresAt: time
    .optional()
    .describe(
      'The time from which retention may delete the letter, unless it is replaying. Absent when its writer set none.',
    ),
  release: z
    .string()
    .optional()
    .describe('The release of the process that gave up. Absent when it named none.'),
  host: z.string().optional().describe('The host of the process that gave up. Absent when it named none.'),
})
export type LetterSummary = z.infer<typeof letterSummary>

export const letterPage = z.object({
  letters: z.array(letterSummary).describe('The letters of this page, newest failure first.'),
  cursor: cursor.optional(),
  faults,
})
export type LetterPage = z.infer<typeof letterPage>

export const letterStats = z.object({
  count: count.describe('The number of letters that match.'),
  atLeast: z
    .boolean()
    .optional()
    .describe('True when the count of a search stopped early: more letters may match. Absent otherwise.'),
  oldestAt: time.optional().describe('The earliest last failure of these letters. Absent when none matches.'),
  newestAt: time.optional().describe('The latest last failure of these letters. Absent when none matches.'),
  byState: z.partialRecord(letterState, count).describe('The number of letters by state.'),
  byReason: z.record(z.string(), count).describe('The number of letters by reason.'),
  byChannel: z.record(z.string(), count).describe('The number of letters by channel.'),
  faults,
})
export type LetterStats = z.infer<typeof letterStats>

export const attempt = z.object({
  number: z.int().describe('The number of the attempt in its cycle, from 1.'),
  startedAt: time.describe('The time at which the attempt began.'),
  endedAt: time
    .optional()
    .describe('The time at which the attempt ended. Absent when the process died during it.'),
  failure: failure.optional().describe('The failure of the attempt. Absent when none was recorded.'),
  delayMs: z
    .number()
    .optional()
    .describe('The wait before the next attempt, in milliseconds. Absent when no attempt was to follow.'),
})
export type Attempt = z.infer<typeof attempt>

export const cycle = z.object({
  number: z.int().describe('The number of the cycle: 0 is the first cycle, n is the nth replay.'),
  reason: z.string().describe('The rule by which Lazaret gave up in this cycle.'),
  reasonText: z.string().describe('The reason as a sentence.'),
  category,
  failure: failure.optional().describe('The last failure of the cycle. Absent when there was no attempt.'),
  attempts: z
    .array(attempt)
    .describe('The first and the latest attempts. A letter leaves out the middle ones when there are many.'),
  attemptCount: count.describe('The number of all attempts of the cycle.'),
  firstFailedAt: time.describe('The time of the first failure in the cycle.'),
  lastFailedAt: time.describe('The time of the last failure in the cycle.'),
  replayId: z
    .string()
    .optional()
    .describe('The id of the replay that began the cycle. Absent for the first cycle.'),
  replayedBy: z.string().optional().describe('The name of the person who ran that replay.'),
  endedAt: time
    .optional()
    .describe('The time of the first failure in the next cycle. Absent for the current cycle.'),
})
export type Cycle = z.infer<typeof cycle>

/** The event as it may be shown. Bytes are told by their number until they are revealed. */
export const letterEvent = z.object({
  id: z.string().describe('The id of the event.'),
  type: z.string().describe('The type of the event.'),
  channel: z.string().describe('The channel of the event.'),
  key: z.string().optional().describe('The key of the event, masked. Absent when the event has none.'),
  idempotencyKey: z
    .string()
    .describe('The idempotency key, masked. It is equal for events with the same effect.'),
  occurredAt: time.describe('The time at which the event occurred.'),
  expiresAt: time
    .optional()
    .describe('The time after which the event must not be handled. Absent when the event has none.'),
  source: z.string().optional().describe('The source of the event, masked. Absent when the event has none.'),
  headers: z.record(z.string(), z.string()).describe('The headers of the event, masked.'),
  payload: json.describe('The payload of the event, masked. For bytes it is a text with their number.'),
})
export type LetterEvent = z.infer<typeof letterEvent>

/** Where a replay would send it. */
export const destination = z.object({
  channel: z.string().describe('The channel to which a replay sends the event.'),
  handler: z.string().describe('The handler or sink that receives the event.'),
  broker: z
    .string()
    .optional()
    .describe('The broker that sends the event, or `this process`. Absent when this server cannot send it.'),
  obstacle: z
    .string()
    .optional()
    .describe('The reason why a replay would skip the letter now. Absent when a replay would send it.'),
})
export type Destination = z.infer<typeof destination>

export const grouping = z.object({
  id: z.string().describe('The id of the group.'),
  title: z.string().describe('The error of the group in one line, masked.'),
  rule: z
    .enum(['explicit', 'frame', 'message', 'reason'])
    .describe(
      'The rule that made the fingerprint: set by the error, by the stack frame, by the message, or by the reason.',
    ),
  basis: z.string().describe('The text of which the fingerprint is the hash, masked.'),
})
export type Grouping = z.infer<typeof grouping>

export const letterDetail = letterSummary.extend({
  reasonText: z.string().describe('The reason as a sentence.'),
  grouping: grouping.describe('The group of the letter, and how Lazaret found it.'),
  event: letterEvent.describe('The event of the letter, masked.'),
  origin: z
    .record(z.string(), z.union([z.string(), z.number()]))
    .describe('The place that the event came from, such as queue, exchange, partition and offset.'),
  detail: z
    .record(z.string(), json)
    .optional()
    .describe(
      'Further facts about the reason, such as the limit of `rate_limited`. Absent when there are none.',
    ),
  job: z.string().optional().describe('The job that tracked the event. Absent outside of jobs.'),
  cycles: z.array(cycle).describe('The cycles of the letter, oldest first. The current cycle is the last.'),
  droppedCycles: count.describe('The number of cycles that the letter left out after the first one.'),
  destination: destination.describe('The replay target of the letter.'),
  traceId: z
    .string()
    .optional()
    .describe('The trace id of the header `traceparent`. Absent when the event has none.'),
  audit: z.array(auditEntry).describe('The latest audit entries of the letter, newest first.'),
})
export type LetterDetail = z.infer<typeof letterDetail>

export const reasonBody = z.strictObject({ reason })

/** The parts of a letter that the masks hide. */
export const revealedLetter = z.object({
  id: id.describe('The id of the letter.'),
  store: storeName,
  revealedBy: who.describe('The name of the caller, as the audit log has it.'),
  revealedAt: time.describe('The time of the reveal, as the audit log has it.'),
  headers: z.record(z.string(), z.string()).describe('The headers of the event, without masks.'),
  key: z.string().optional().describe('The key of the event, without masks. Absent when the event has none.'),
  payload: json.optional().describe('The JSON payload, without masks. Absent when the payload is bytes.'),
  payloadBase64: z
    .string()
    .optional()
    .describe('The bytes of the payload in base64. Absent when the payload is JSON.'),
})
export type RevealedLetter = z.infer<typeof revealedLetter>

const PREVIEW_FIRST = 'send POST /api/v1/dead-letters/purge/preview first, and copy the value from its answer'

export const purgePreviewBody = z.strictObject({
  filter: letterFilter.describe('The letters to delete.'),
  store: oneStore,
})
export type PurgePreviewBody = z.infer<typeof purgePreviewBody>

/** The letters that a purge would delete now. */
export const purgePreview = z.object({
  count: count.describe('The number of letters that the purge would delete.'),
  byState: z.partialRecord(letterState, count).describe('The number of these letters by state.'),
  until: time.describe('The time of the count. The purge does not delete letters that fail later.'),
  digest: z.string().describe('A digest of the ids and states of these letters. The purge needs it.'),
})
export type PurgePreview = z.infer<typeof purgePreview>

export const purgeBody = z.strictObject({
  ...purgePreviewBody.shape,
  expectedCount: count.describe(
    'The `count` of the preview. The purge deletes nothing when the number has changed.',
  ),
  until: z.iso.datetime({ offset: true, error: PREVIEW_FIRST }).describe('The `until` of the preview.'),
  digest: z
    .string({ error: PREVIEW_FIRST })
    .max(200)
    .describe(
      'The `digest` of the preview. The purge deletes nothing when the letters or their states have changed.',
    ),
  reason,
})
export type PurgeBody = z.infer<typeof purgeBody>

/** With several stores, one may fail after another has deleted its letters. */
export const purged = z.object({
  deleted: count.describe('The number of deleted letters. When `faults` is present, more may be deleted.'),
  faults,
})
export type Purged = z.infer<typeof purged>
