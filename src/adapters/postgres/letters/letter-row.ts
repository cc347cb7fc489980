import { searchedTexts } from '../../../adapter-kit/query/letter-query.ts'
import { groupTextsAtRest } from '../../../adapter-kit/sealed/groups.ts'
import { groupingOf } from '../../../core/dead-letter/group.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { LetterState } from '../../../core/dead-letter/state.ts'
import type { LetterCodec } from '../../../ports/codec.ts'
import { asMs, holdable, holdableOrNull, timeParameter } from '../connection/text.ts'

/** Stands between the fields of a letter's search text, so that nothing is found across two of them. */
const FIELD_END = '\u001f'

/** The columns of a letter in the order of `letterValues`, all but its revision. */
export const LETTER_COLUMNS = [
  'id',
  'channel',
  'handler',
  'event_id',
  'type',
  'key',
  'reason',
  'category',
  'state',
  'group_id',
  'error',
  'attempts',
  'replays',
  'replay_id',
  'search',
  'body',
  'first_failed_at',
  'last_failed_at',
  'created_at',
  'updated_at',
  'expires_at',
] as const
const FIRST_TIME = LETTER_COLUMNS.indexOf('first_failed_at')

/** `$1, $2, …`, times as times. */
export const LETTER_PARAMETERS: readonly string[] = LETTER_COLUMNS.map((_, index) => {
  const parameter = `$${index + 1}`
  return index < FIRST_TIME ? parameter : `to_timestamp(${parameter}::float8 / 1000)`
})

export function letterValues(letter: DeadLetter, codec: LetterCodec): unknown[] {
  const { id, channel, handler, event, cycle, endedCycles, state, replays, replayId } = letter
  const { failure } = cycle
  const isSealed = codec.texts !== undefined
  return [
    id,
    channel,
    handler,
    event.id,
    event.type,
    isSealed ? null : (event.key ?? null),
    cycle.reason,
    cycle.category,
    state,
    groupingOf(letter).id,
    failure === undefined ? null : isSealed ? failure.name : `${failure.name}: ${failure.message}`,
    cycle.attemptCount,
    replays,
    replayId ?? null,
    searchText(letter, isSealed),
    codec.encode(letter),
  ]
    .map(value => (typeof value === 'string' ? holdable(value) : value))
    .concat([
      timeParameter(endedCycles[0]?.firstFailedAt ?? cycle.firstFailedAt),
      timeParameter(cycle.lastFailedAt),
      timeParameter(letter.createdAt),
      timeParameter(letter.updatedAt),
      letter.expiresAt === undefined ? null : timeParameter(letter.expiresAt),
    ])
}

/** id, title, rule, basis, category and what is searched. */
export function groupValues(letter: DeadLetter, codec: LetterCodec): string[] {
  const { id, title, rule, basis, search } = groupTextsAtRest(letter, codec.texts)
  return [id, title, rule, basis, letter.cycle.category, searchable(search)].map(holdable)
}

/** What is selected of a letter. */
export const LETTER_SELECTED = `body, revision::float8 as revision, state, replays, replay_id as "replayId",
  ${asMs('updated_at')} as "updatedAt"`

export interface StoredLetter {
  readonly body: string
  readonly revision: number
  readonly state: LetterState
  readonly replays: number
  readonly replayId: string | null
  readonly updatedAt: number
}

/** What SQL may have changed is read from the columns. */
export function readLetter(stored: StoredLetter, codec: LetterCodec): DeadLetter {
  const letter = codec.decode(stored.body)
  const { state, replays, updatedAt } = stored
  if (state === letter.state && replays === letter.replays) return letter
  return { ...letter, state, replays, replayId: stored.replayId ?? undefined, updatedAt }
}

/** What a search looks through (ports/letter-query), each field apart from the next. */
function searchText(letter: DeadLetter, isSealed: boolean): string {
  const fields = searchedTexts(letter, isSealed)
  return fields.map(field => holdableOrNull(field && searchable(field))).join(FIELD_END)
}

/** As it is compared: without case, and without what marks the end of a field. */
export function searchable(text: string): string {
  return holdable(text.toLowerCase()).replaceAll(FIELD_END, '\ufffd')
}
