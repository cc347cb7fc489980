import type { HandlerCount, LetterFilter, LetterStats, TimelineSpan } from '../../../ports/dead-letters.ts'
import type { PgPool, PgQueryable } from '../connection/client.ts'
import { Conditions } from '../connection/conditions.ts'
import { runQuery, runUncompiled } from '../connection/query.ts'
import { asMs } from '../connection/values.ts'
import { COUNTED, type CountFolder, endOf } from './facet-counts.ts'
import { addFields, addFilter, addTimes, FACET } from './letter-query.ts'

/** The dimensions that a row of the count does not group by: one bit each for state, reason and channel. */
const LEVEL = { all: 7, state: 3, reason: 5, channel: 6 } as const

interface CountRow {
  readonly level: number
  readonly name: string | null
  readonly count: number
  readonly oldestAt: number | null
  readonly newestAt: number | null
}

const ALL_LEVELS = 'group by grouping sets ((), (state), (reason), (channel))'
const LEVEL_AND_NAME = `grouping(state, reason, channel) as level, coalesce(state, reason, channel) as name`
const ENDS = `${asMs('min(oldest)')} as "oldestAt", ${asMs('max(newest)')} as "newestAt"`
const DOING = 'counting dead letters'

/**
 * The facets have counts of all their letters, however many these are. Letters of some days are read, at most `stopAt` of them, and a
 * search reads all.
 */
export function countLetters(
  on: PgPool,
  folder: CountFolder,
  filter: LetterFilter,
  stopAt: number | undefined,
): Promise<LetterStats> {
  if (isOfFields(filter)) return sumFacets(on, folder, filter)
  return stopAt === undefined || filter.search !== undefined
    ? countEach(on, filter)
    : countUpTo(on, filter, stopAt)
}

/** Whether facets answer all of the filter. */
function isOfFields({ search, after, before }: LetterFilter): boolean {
  return search === undefined && after === undefined && before === undefined
}

async function sumFacets(on: PgPool, folder: CountFolder, filter: LetterFilter): Promise<LetterStats> {
  const facets = addFields(new Conditions(), filter)
  const { rows } = await runUncompiled(
    on,
    DOING,
    `with ${COUNTED}, present as materialized (
       select f.channel, f.reason, f.state, c.letters as count, o.at as oldest, n.at as newest
       from lazaret.letter_facets f join counted c on c.facet = f.id
       cross join ${endOf('last_failed_at', 'asc')} o cross join ${endOf('last_failed_at', 'desc')} n
       where ${facets.text}
     )
     select ${LEVEL_AND_NAME}, sum(count)::float8 as count, ${ENDS},
       (select count(*) from lazaret.letter_counts)::float8 as changes
     from present ${ALL_LEVELS}`,
    facets.values,
  )
  folder.see(rows[0].changes)
  return statsOf(rows)
}

/** An index that has all of channel, reason and state counts them first, so the letters themselves are not read. */
async function countEach(on: PgPool, filter: LetterFilter): Promise<LetterStats> {
  const conditions = addFilter(new Conditions(), filter)
  const answer = await runUncompiled(
    on,
    DOING,
    `select ${LEVEL_AND_NAME}, sum(count)::float8 as count, ${ENDS}
     from (
       select channel, reason, state, count(*) as count, min(last_failed_at) as oldest, max(last_failed_at) as newest
       from lazaret.dead_letters where ${conditions.text} group by channel, reason, state
     ) alike ${ALL_LEVELS}`,
    conditions.values,
  )
  return statsOf(answer.rows)
}

/**
 * Counts facet by facet and stops at a number of letters, so that the time does not depend on how many letters match. The ends of
 * each facet tell which values occur, and when.
 */
async function countUpTo(on: PgPool, filter: LetterFilter, stopAt: number): Promise<LetterStats> {
  const facets = addFields(new Conditions(stopAt + 1), filter)
  // There is a condition on the time always: without one the planner may sort whole facets.
  const { after = Number.NEGATIVE_INFINITY, before } = filter
  const times = addTimes(new Conditions(...facets.values), { after, before })
  const lettersOf = (facet: string) =>
    `from lazaret.dead_letters d where ${FACET} = ${facet}.id and ${times.text}`
  const answer = await runUncompiled(
    on,
    DOING,
    `with f as materialized (
       select id, channel, reason, state from lazaret.letter_facets where ${facets.text}
     ), present as materialized (
       select f.*, o.at as oldest, n.at as newest from f
       cross join lateral (
         select d.last_failed_at as at ${lettersOf('f')} order by d.last_failed_at, d.id limit 1
       ) o cross join lateral (
         select d.last_failed_at as at ${lettersOf('f')} order by d.last_failed_at desc, d.id desc limit 1
       ) n
     ), counted as materialized (
       select id, count(*) as count from (
         select p.id from present p cross join lateral (select ${lettersOf('p')} limit $1) d limit $1
       ) l group by id
     )
     select ${LEVEL_AND_NAME}, sum(coalesce(count, 1))::float8 as count, coalesce(sum(count), 0)::float8 as counted, ${ENDS}
     from present left join counted using (id) ${ALL_LEVELS}`,
    times.values,
  )
  const isStopped = answer.rows.some(({ counted }) => counted > stopAt)
  return { ...statsOf(answer.rows), ...(isStopped ? { count: stopAt, atLeast: true } : {}) }
}

function statsOf(rows: readonly CountRow[]): LetterStats {
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

/** No index of letters has the handler: with times or a search this reads the letters that match. */
export async function countByHandler(
  on: PgQueryable,
  filter: LetterFilter,
): Promise<readonly HandlerCount[]> {
  const conditions = addFilter(new Conditions(), filter)
  const { rows } = await runQuery(
    on,
    'counting dead letters by handler',
    isOfFields(filter)
      ? `with ${COUNTED} select channel, handler, sum(letters)::float8 as count
         from lazaret.letter_facets f join counted c on c.facet = f.id
         where ${conditions.text} group by channel, handler`
      : `select channel, handler, count(*)::float8 as count
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
