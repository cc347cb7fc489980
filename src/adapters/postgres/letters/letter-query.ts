import type { LetterPosition } from '../../../adapter-kit/query/letter-order.ts'
import type { HandlerCount, LetterFilter, LetterStats, TimelineSpan } from '../../../ports/dead-letters.ts'
import type { PgPool, PgQueryable } from '../connection/client.ts'
import { Conditions } from '../connection/conditions.ts'
import { runQuery, runUncompiled } from '../connection/query.ts'
import { asMs, asTime, storableText, timeParameter } from '../connection/values.ts'
import { searchable } from './letter-table.ts'

export const FILTER_COLUMNS = {
  channel: 'channel',
  handler: 'handler',
  type: 'type',
  reason: 'reason',
  category: 'category',
  state: 'state',
  group: 'group_id',
} as const

/** Adds a filter (adapter-kit/query/letter-query) as SQL conditions. */
export function addFilter(conditions: Conditions, filter: LetterFilter): Conditions {
  addTimes(addFields(conditions, filter), filter)
  if (filter.search !== undefined)
    conditions.add(searchable(filter.search), parameter => `position($${parameter}::text in search) > 0`)
  return conditions
}

/** The part of a filter that a facet answers. */
export function addFields(conditions: Conditions, filter: LetterFilter): Conditions {
  for (const [field, column] of Object.entries(FILTER_COLUMNS)) {
    const wanted = filter[field as keyof typeof FILTER_COLUMNS]
    conditions.equal(column, wanted && storableText(wanted))
  }
  return conditions
}

export function addTimes(conditions: Conditions, { after, before }: LetterFilter): Conditions {
  if (after !== undefined)
    conditions.add(timeParameter(after), parameter => `last_failed_at >= ${asTime(parameter)}`)
  if (before !== undefined)
    conditions.add(timeParameter(before), parameter => `last_failed_at < ${asTime(parameter)}`)
  return conditions
}

/** Adds the condition that a letter comes after this one in the list. */
export function addPlace(conditions: Conditions, { lastFailedAt, id }: LetterPosition): Conditions {
  const at = conditions.values.push(timeParameter(lastFailedAt))
  return conditions.add(
    id,
    parameter => `(last_failed_at, id) < (${asTime(at)}, $${parameter}::text collate "C")`,
  )
}

/** The dimensions that a row of the count does not group by: one bit each for state, reason and channel. */
const LEVEL = { all: 7, state: 3, reason: 5, channel: 6 } as const

interface CountRow {
  readonly level: number
  readonly name: string | null
  readonly count: number
  readonly oldestAt: number | null
  readonly newestAt: number | null
}

/** An index that has all of channel, reason and state counts them first, so the letters themselves are not read. */
export async function countLetters(on: PgPool, filter: LetterFilter): Promise<LetterStats> {
  const conditions = addFilter(new Conditions(), filter)
  const answer = await runUncompiled(
    on,
    'counting dead letters',
    `select grouping(state, reason, channel) as level, coalesce(state, reason, channel) as name,
       sum(count)::float8 as count, ${asMs('min(oldest)')} as "oldestAt", ${asMs('max(newest)')} as "newestAt"
     from (
       select channel, reason, state, count(*) as count, min(last_failed_at) as oldest, max(last_failed_at) as newest
       from lazaret.dead_letters where ${conditions.text} group by channel, reason, state
     ) alike
     group by grouping sets ((), (state), (reason), (channel))`,
    conditions.values,
  )
  const rows: readonly CountRow[] = answer.rows
  const total = rows.find(({ level }) => level === LEVEL.all)
  return {
    count: total?.count ?? 0,
    oldestAt: total?.oldestAt ?? undefined,
    newestAt: total?.newestAt ?? undefined,
    byState: countsBy(rows, LEVEL.state),
    byReason: countsBy(rows, LEVEL.reason),
    byChannel: countsBy(rows, LEVEL.channel),
  }
}

/** No index has the handler: this reads the letters that match. */
export async function countByHandler(
  on: PgQueryable,
  filter: LetterFilter,
): Promise<readonly HandlerCount[]> {
  const conditions = addFilter(new Conditions(), filter)
  const { rows } = await runQuery(
    on,
    'counting dead letters by handler',
    `select channel, handler, count(*)::float8 as count
     from lazaret.dead_letters where ${conditions.text} group by channel, handler`,
    conditions.values,
  )
  return rows
}

/** A channel may have any name, even one of an object's prototype: fromEntries makes own properties only. */
function countsBy(rows: readonly CountRow[], wanted: number): Record<string, number> {
  const of = rows.filter(({ level }) => level === wanted)
  return Object.fromEntries(of.map(({ name, count }) => [name, count]))
}

/** Counts letters by the time bucket of their last failure. */
export async function countByTime(
  on: PgQueryable,
  filter: LetterFilter,
  { from, bucketMs, buckets }: TimelineSpan,
): Promise<readonly number[]> {
  const conditions = addFilter(new Conditions(from, bucketMs), filter)
  const { rows } = await runQuery(
    on,
    'counting dead letters by time',
    `select floor((${asMs('last_failed_at')} - $1::float8) / $2::float8)::float8 as bucket, count(*)::float8 as count
     from lazaret.dead_letters where ${conditions.text} group by 1`,
    conditions.values,
  )
  const counts = new Array<number>(buckets).fill(0)
  for (const { bucket, count } of rows) if (bucket >= 0 && bucket < buckets) counts[bucket] = count
  return counts
}
