import * as z from 'zod'
import { LETTER_STATES } from '../../core/dead-letter/state.ts'
import {
  MAX_WHERE_LENGTH,
  parseWhere,
  WHERE_LENGTH_REMEDY,
  WHERE_REMEDY,
} from '../../core/dead-letter/where.ts'
import { CATEGORIES } from '../../core/failure/classification.ts'
import { LETTER_SORTS, SORT_DIRECTIONS } from '../../ports/dead-letters.ts'
import { auditEntry } from './audit.ts'
import {
  count,
  cursor,
  faults,
  id,
  json,
  limit,
  optional,
  optionalText,
  reason,
  storeName,
  text,
  time,
  who,
} from './common.ts'

export const letterState = z.enum(LETTER_STATES).describe('The state of the letter.')
export type LetterState = z.infer<typeof letterState>

export const category = z.enum(CATEGORIES).describe('The category of the failure.')
export type Category = z.infer<typeof category>

const word = z.string().min(1).max(500)
/** A number, which a query gives as text. Coercion would take null, an empty text or a list for 0, and so select every letter. */
const attempts = z.preprocess(
  value => (typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : value),
  z.number().int().min(0).max(1_000_000_000),
)
export const oneStore = storeName.optional().describe('Only this store. The default is all stores.')

/** The filter of the command line. A letter has to match every field that is given. */
export const letterFilter = z.strictObject({
  channel: optional(word, 'Only letters of this channel.'),
  handler: optional(word, 'Only letters of this handler or sink.'),
  type: optional(word, 'Only letters of events with this type.'),
  // A newer writer may have reasons that this version does not know, so the schema takes any text.
  reason: optional(word, 'Only letters with this reason, such as `attempts_exhausted`.'),
  category: optional(category, 'Only letters whose failure has this category.'),
  state: optional(letterState, 'Only letters in this state.'),
  group: optional(word, 'Only letters of the group with this id.'),
  after: optional(time, 'Only letters whose last failure is at or after this time.'),
  before: optional(time, 'Only letters whose last failure is before this time.'),
  search: optional(
    word,
    'Only letters with this text in the error, in the id, key or type of the event, or in metadata. Case is ignored.',
  ),
  release: optional(word, 'Only letters of this release of the process that gave up.'),
  error: optional(
    word,
    'Only letters with this text in the name, message or code of the error. Case is ignored.',
  ),
  minAttempts: optional(attempts, 'Only letters with at least this many attempts in the current cycle.'),
  maxAttempts: optional(attempts, 'Only letters with at most this many attempts in the current cycle.'),
  where: optional(
    z
      .string()
      .max(MAX_WHERE_LENGTH, { error: WHERE_LENGTH_REMEDY, abort: true })
      .refine(text => parseWhere(text) !== undefined, { error: WHERE_REMEDY }),
    'Only letters whose fields meet these conditions, such as `payload.customer.id = 7 and header.tenant = acme`. A field begins with `payload`, `header` or `metadata`. The operators are `=`, `!=` and `~` (contains).',
  ),
})
export type LetterFilter = z.infer<typeof letterFilter>

/** A filter in an answer. Its conditions may be masked. */
export const shownFilter = letterFilter.extend({
  where: optional(word, 'The conditions on fields, masked for callers who may not reveal payloads.'),
})

export const letterStatsQuery = letterFilter.extend({ store: oneStore })
export const letterQuery = letterStatsQuery.extend({
  sort: optional(z.enum(LETTER_SORTS), 'The column to sort by. The default is `lastFailed`.'),
  order: optional(
    z.enum(SORT_DIRECTIONS),
    'The direction. The default is `desc` for times and attempts, and `asc` for texts. Letters with the same value are listed by newest failure.',
  ),
  startAt: optional(
    time,
    'Starts the list at this time instead of its beginning. Only when it is sorted by `lastFailed` or `firstFailed`, and without a cursor.',
  ),
  limit: limit(500, 100),
  cursor: cursor.optional(),
})

export const failure = z.object({
  name: text('The name of the error, masked.'),
  message: text('The message of the error, masked.'),
  code: optionalText('The code of the error, masked. Absent when the error has none.'),
  category,
  fingerprint: text('The id of the fingerprint: equal for failures with the same cause.'),
  stack: optionalText('The stack of the error, masked. Absent when the letter does not have it.'),
})
export type Failure = z.infer<typeof failure>

/** A letter in a list: no payload, no stack. */
export const letterSummary = z.object({
  id: id.describe('The id of the letter.'),
  store: storeName,
  channel: text('The channel of the event.'),
  handler: text('The handler or sink that gave up on the event.'),
  state: letterState,
  reason: text('The rule by which Lazaret gave up on the event, such as `attempts_exhausted`.'),
  category,
  group: text('The id of the group.'),
  eventId: text('The id of the event.'),
  type: text('The type of the event.'),
  key: optionalText('The key of the event, masked. Absent when the event has none.'),
  failure: optional(
    failure.pick({ name: true, message: true, code: true }),
    'The last failure. Absent when there was no attempt.',
  ),
  attempts: count.describe('The number of attempts in the current cycle.'),
  replays: count.describe('The number of times that the event was replayed.'),
  replayId: optionalText(
    'The id of the last replay. An id that begins with `sql-` comes from `outbox_replay` in Postgres: it has no replay to show.',
  ),
  firstFailedAt: time.describe('The time of the first failure in the current cycle.'),
  lastFailedAt: time.describe('The time of the last failure in the current cycle.'),
  createdAt: time.describe('The time at which the letter was created.'),
  updatedAt: time.describe('The time of the last change of the letter.'),
  expiresAt: optional(
    time,
    'The time from which retention may delete the letter, unless it is replaying. Absent when its writer set none.',
  ),
  expiresAfterMs: optional(
    z.union([z.number(), z.literal('never')]),
    'The time to live that the policy of its consumer or dispatcher gave the letter, in ms, or `never`. Absent when no policy gave it one.',
  ),
  autoReplay: optional(
    z.boolean(),
    'Whether automatic replay may send the letter, by the policy of its consumer or dispatcher. Absent when it may not.',
  ),
  ordering: optional(
    z.enum(['none', 'by-key']),
    'The ordering of the consumer that gave up. With `by-key`, later events of the key wait for the letter. Absent when the letter does not say it.',
  ),
  release: optionalText('The release of the process that gave up. Absent when it named none.'),
  host: optionalText('The host of the process that gave up. Absent when it named none.'),
})
export type LetterSummary = z.infer<typeof letterSummary>

/** The discarded letters whose keys are still blocked. */
export const stillBlocked = z.object({
  count: count.describe('The number of these letters.'),
  ids: z.array(id).describe('The ids of these letters.'),
  problems: z
    .array(z.string())
    .describe('Which events still wait, why, and what to do about it, in sentences.'),
})
export type StillBlocked = z.infer<typeof stillBlocked>

/** The letter after a person decided about it. */
export const decidedLetter = letterSummary.extend({
  stillBlocked: optional(
    stillBlocked,
    'Present when the letter is discarded and its key is, or may be, still blocked: its broker is not configured here or did not answer.',
  ),
})
export type DecidedLetter = z.infer<typeof decidedLetter>

export const letterPage = z.object({
  letters: z.array(letterSummary).describe('The letters of this page, in the order of the list.'),
  cursor: cursor.optional(),
  examined: optional(
    count,
    'The number of letters that the server read to find these, because no index has a field of the filter. One request reads at most 5,000 letters of a store, 2,000 without the right to reveal: a page may have fewer letters than its limit, or none, and the cursor continues. Absent when the store used an index.',
  ),
  faults,
})
export type LetterPage = z.infer<typeof letterPage>

export const letterStats = z.object({
  count: count.describe('The number of letters that match.'),
  atLeast: optional(
    z.boolean(),
    'True when the count stopped early, because the server would have to read too many letters: more letters may match, and the other counts are lower bounds. Absent otherwise.',
  ),
  oldestAt: optional(time, 'The earliest last failure of these letters. Absent when none matches.'),
  newestAt: optional(time, 'The latest last failure of these letters. Absent when none matches.'),
  byState: z.partialRecord(letterState, count).describe('The number of letters by state.'),
  byReason: z.record(z.string(), count).describe('The number of letters by reason.'),
  byChannel: z.record(z.string(), count).describe('The number of letters by channel.'),
  faults,
})
export type LetterStats = z.infer<typeof letterStats>

export const attempt = z.object({
  number: z.int().describe('The number of the attempt in its cycle, from 1.'),
  startedAt: time.describe('The time at which the attempt began.'),
  endedAt: optional(time, 'The time at which the attempt ended. Absent when the process died during it.'),
  failure: optional(failure, 'The failure of the attempt. Absent when none was recorded.'),
  delayMs: optional(
    z.number(),
    'The wait before the next attempt, in milliseconds. Absent when no attempt was to follow.',
  ),
})
export type Attempt = z.infer<typeof attempt>

export const cycle = z.object({
  number: z.int().describe('The number of the cycle: 0 is the first cycle, n is the nth replay.'),
  reason: text('The rule by which Lazaret gave up in this cycle.'),
  reasonText: text('The reason as a sentence.'),
  category,
  failure: optional(failure, 'The last failure of the cycle. Absent when there was no attempt.'),
  attempts: z
    .array(attempt)
    .describe('The first and the latest attempts. A letter leaves out the middle ones when there are many.'),
  attemptCount: count.describe('The number of all attempts of the cycle.'),
  firstFailedAt: time.describe('The time of the first failure in the cycle.'),
  lastFailedAt: time.describe('The time of the last failure in the cycle.'),
  replayId: optionalText('The id of the replay that began the cycle. Absent for the first cycle.'),
  replayedBy: optionalText('The name of the person who ran that replay.'),
  endedAt: optional(time, 'The time of the first failure in the next cycle. Absent for the current cycle.'),
})
export type Cycle = z.infer<typeof cycle>

/** The event as it may be shown. Bytes are told by their number until they are revealed. */
export const letterEvent = z.object({
  id: text('The id of the event.'),
  type: text('The type of the event.'),
  channel: text('The channel of the event.'),
  key: optionalText('The key of the event, masked. Absent when the event has none.'),
  idempotencyKey: text('The idempotency key, masked. It is equal for events with the same effect.'),
  occurredAt: time.describe('The time at which the event occurred.'),
  expiresAt: optional(
    time,
    'The time after which the event must not be handled. Absent when the event has none.',
  ),
  source: optionalText('The source of the event, masked. Absent when the event has none.'),
  headers: z.record(z.string(), z.string()).describe('The headers of the event, masked.'),
  payload: json.describe('The payload of the event, masked. For bytes it is a text with their number.'),
})
export type LetterEvent = z.infer<typeof letterEvent>

/** Where a replay would send it. */
export const destination = z.object({
  channel: text('The channel to which a replay sends the event.'),
  handler: text('The handler or sink that receives the event.'),
  broker: optionalText(
    'The broker that sends the event, or `this process`. Absent when this server cannot send it.',
  ),
  obstacle: optionalText(
    'The reason why a replay would skip the letter now. Absent when a replay would send it.',
  ),
})
export type Destination = z.infer<typeof destination>

export const grouping = z.object({
  id: text('The id of the group.'),
  title: text('The error of the group in one line, masked.'),
  rule: z
    .enum(['explicit', 'frame', 'message', 'reason'])
    .describe(
      'The rule that made the fingerprint: set by the error, by the stack frame, by the message, or by the reason.',
    ),
  basis: text('The text of which the fingerprint is the hash, masked.'),
})
export type Grouping = z.infer<typeof grouping>

export const letterDetail = letterSummary.extend({
  reasonText: text('The reason as a sentence.'),
  grouping: grouping.describe('The group of the letter, and how Lazaret found it.'),
  event: letterEvent.describe('The event of the letter, masked.'),
  origin: z
    .record(z.string(), z.union([z.string(), z.number()]))
    .describe('The place that the event came from, such as queue, exchange, partition and offset.'),
  detail: optional(
    z.record(z.string(), json),
    'Further facts about the reason, such as the limit of `rate_limited`. Absent when there are none.',
  ),
  metadata: optional(
    z.record(z.string(), json),
    'Custom facts that the consumer or dispatcher added, masked. Absent when there are none.',
  ),
  job: optionalText('The job that tracked the event. Absent outside of jobs.'),
  cycles: z.array(cycle).describe('The cycles of the letter, oldest first. The current cycle is the last.'),
  droppedCycles: count.describe('The number of cycles that the letter left out after the first one.'),
  destination: destination.describe('The replay target of the letter.'),
  traceId: optionalText('The trace id of the header `traceparent`. Absent when the event has none.'),
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
  key: optionalText('The key of the event, without masks. Absent when the event has none.'),
  payload: optional(json, 'The JSON payload, without masks. Absent when the payload is bytes.'),
  payloadBase64: optionalText('The bytes of the payload in base64. Absent when the payload is JSON.'),
})
export type RevealedLetter = z.infer<typeof revealedLetter>
