import {
  isByTime,
  type LetterOrder,
  type LetterPosition,
  NEWEST_FIRST,
} from '../../../adapter-kit/query/letter-order.ts'
import type { ResolvedLetterFilter } from '../../../adapter-kit/query/letter-query.ts'
import type { PgPool } from '../connection/client.ts'
import { Conditions } from '../connection/conditions.ts'
import { runQuery, runUncompiled } from '../connection/query.ts'
import { asTime, storableText, timeParameter } from '../connection/values.ts'
import { addFields, addFilter, addTimes, FACET, FILTER_COLUMNS } from './letter-query.ts'
import { LETTER_SELECTED, type StoredLetter } from './letter-table.ts'

const DOING = 'listing dead letters'
/** A page is first looked for among so many letters beside it. Filters that match one letter in twenty or more end here. */
const NEAR = 2_000
/** Up to this many letters of some days are sorted by their first failure. More of them are found by the index of their facets. */
const MAX_SORTED = 50_000

/** A page to read: `count` letters of the list from a place on. */
interface Wanted {
  readonly filter: ResolvedLetterFilter
  readonly order: LetterOrder
  readonly startAfter: LetterPosition | undefined
  readonly count: number
}

/**
 * The next letters of a list. Every way reads a number of rows that depends on the page and on the number of facets, and not on the
 * depth of the page or on the number of letters. Only a search reads letters until it has found enough.
 */
export async function readLetters(on: PgPool, wanted: Wanted): Promise<readonly StoredLetter[]> {
  const { filter, order, count } = wanted
  if (filter.search !== undefined) return readSorted(on, wanted)
  if (!isByTime(order)) return readByValue(on, wanted)
  if (order.sort === 'firstFailed' && (await isShort(on, filter))) return readShort(on, wanted)
  const near = await readNear(on, wanted)
  return near.length === count || isWhole(wanted) ? near : readFacets(on, wanted)
}

/** Whether the letters beside a page are the page: nothing but times of the list itself is compared. */
function isWhole({ filter, order }: Wanted): boolean {
  const { after, before } = filter
  return !hasFields(filter) && (order.sort === 'lastFailed' || (after === undefined && before === undefined))
}

function hasFields(filter: ResolvedLetterFilter): boolean {
  return Object.keys(FILTER_COLUMNS).some(field => filter[field as keyof typeof FILTER_COLUMNS] !== undefined)
}

/** Those of the next letters by time that match; all letters of the page if nothing else is to match. */
async function readNear(
  on: PgPool,
  wanted: Wanted,
  only?: { readonly sort: LetterOrder['sort']; readonly value: string | number },
): Promise<StoredLetter[]> {
  const { filter, order, startAfter, count } = wanted
  const { isDescending } = order
  const column = timeColumn(order)
  const times = new Conditions(count, only === undefined && isWhole(wanted) ? count : NEAR)
  if (startAfter !== undefined) addPlace(times, startAfter, column, 'id', isDescending)
  const rest = new Conditions(...times.values)
  addTimes(order.sort === 'lastFailed' ? times : rest, filter)
  const fields = addFields(order.sort === 'lastFailed' ? new Conditions(...times.values) : rest, filter)
  if (only !== undefined)
    fields.add(only.value, parameter => `${valueColumn(only.sort)} = $${parameter}${castOf(only.sort)}`)
  const direction = isDescending ? 'desc' : 'asc'
  const by = `order by ${column} ${direction}, id ${direction}`
  const { rows } = await runQuery(
    on,
    DOING,
    `select ${LETTER_SELECTED} from (
       select * from lazaret.dead_letters where ${times.text} ${by} limit $2
     ) near where ${fields.text} ${by} limit $1`,
    fields.values,
  )
  return rows
}

/** Sorts all letters that match. */
function readSorted(on: PgPool, { filter, order, startAfter, count }: Wanted): Promise<StoredLetter[]> {
  const { sort, isDescending } = order
  const conditions = addFilter(new Conditions(count), filter)
  const direction = isDescending ? 'desc' : 'asc'
  const column = isByTime(order) ? timeColumn(order) : valueColumn(sort)
  if (isByTime(order)) {
    if (startAfter !== undefined) addPlace(conditions, startAfter, column, 'id', isDescending)
    return selectBy(on, conditions, `${column} ${direction}, id ${direction}`)
  }
  if (startAfter !== undefined) {
    const at = conditions.values.push(timeParameter(startAfter.lastFailedAt))
    const id = conditions.values.push(startAfter.id)
    conditions.add(boundValue(startAfter), parameter => {
      const value = `$${parameter}${castOf(sort)}`
      return `(${column} ${isDescending ? '<' : '>'} ${value}
        or (${column} = ${value} and (last_failed_at, id) < (${asTime(at)}, $${id}::text collate "C")))`
    })
  }
  return selectBy(on, conditions, `${column} ${direction}, last_failed_at desc, id desc`)
}

async function selectBy(on: PgPool, conditions: Conditions, by: string): Promise<StoredLetter[]> {
  const { rows } = await runQuery(
    on,
    DOING,
    `select ${LETTER_SELECTED} from lazaret.dead_letters where ${conditions.text} order by ${by} limit $1`,
    conditions.values,
  )
  return rows
}

/** Whether a filter has times, and few letters are of these times. */
async function isShort(on: PgPool, filter: ResolvedLetterFilter): Promise<boolean> {
  if (filter.after === undefined && filter.before === undefined) return false
  const conditions = addTimes(new Conditions(MAX_SORTED + 1), filter)
  const { rows } = await runQuery(
    on,
    DOING,
    `select count(*)::float8 as count from (select from lazaret.dead_letters where ${conditions.text} limit $1) l`,
    conditions.values,
  )
  return rows[0].count <= MAX_SORTED
}

/** Sorts the letters of some times by their first failure. The planner would rather read all letters in that order. */
async function readShort(on: PgPool, { filter, order, startAfter, count }: Wanted): Promise<StoredLetter[]> {
  const { isDescending } = order
  const conditions = addFilter(new Conditions(count), filter)
  if (startAfter !== undefined) addPlace(conditions, startAfter, 'first_failed_at', 'id', isDescending)
  const direction = isDescending ? 'desc' : 'asc'
  const by = `order by p.at ${direction}, p.id ${direction}`
  const { rows } = await runQuery(
    on,
    DOING,
    `with matching as materialized (
       select first_failed_at as at, id from lazaret.dead_letters where ${conditions.text}
     ), page as materialized (select * from matching p ${by} limit $1)
     select ${LETTER_SELECTED} from page p join lazaret.dead_letters d on d.id = p.id ${by}`,
    conditions.values,
  )
  return rows
}

/** Value by value, each by newest failure. More and more values are read at once, because each of them may have few letters. */
async function readByValue(on: PgPool, wanted: Wanted): Promise<StoredLetter[]> {
  const { startAfter, count } = wanted
  const values = await readValues(on, wanted)
  const found: StoredLetter[] = []
  for (let from = 0, many = 1; from < values.length && found.length < count; from += many, many *= 2) {
    const some = values.slice(from, from + many)
    // Letters of the value that the page before ended with go on behind it, those of other values begin with the newest.
    const isSame = from === 0 && startAfter !== undefined && some[0] === boundValue(startAfter)
    const part = { ...wanted, startAfter: isSame ? startAfter : undefined, count: count - found.length }
    found.push(...((await readOneValue(on, part, some)) ?? (await readFacets(on, part, some))))
  }
  return found
}

/** The letters of one value are a list by time. Undefined if there are several values, or too few letters beside the page. */
async function readOneValue(
  on: PgPool,
  wanted: Wanted,
  values: readonly (string | number)[],
): Promise<StoredLetter[] | undefined> {
  const [value, ...others] = values
  if (value === undefined || others.length > 0) return undefined
  const { startAfter, order, count } = wanted
  const place = startAfter && { lastFailedAt: startAfter.lastFailedAt, id: startAfter.id }
  const newestFirst = { ...wanted, order: NEWEST_FIRST, startAfter: place }
  const near = await readNear(on, newestFirst, { sort: order.sort, value })
  return near.length === count ? near : undefined
}

/** The values of the list from a place on, in order. */
async function readValues(
  on: PgPool,
  { filter, order: { sort, isDescending }, startAfter }: Wanted,
): Promise<readonly (string | number)[]> {
  const column = valueColumn(sort)
  const conditions = addFields(new Conditions(), filter)
  if (startAfter !== undefined)
    conditions.add(
      boundValue(startAfter),
      parameter => `${column} ${isDescending ? '<=' : '>='} $${parameter}${castOf(sort)}`,
    )
  const { rows } = await runQuery(
    on,
    DOING,
    `select distinct ${column} as value from lazaret.letter_facets where ${conditions.text}
     order by value ${isDescending ? 'desc' : 'asc'}`,
    conditions.values,
  )
  return rows.map(({ value }: { value: string | number }) => value)
}

/**
 * The first letters of every facet, about two pages of them in all, tell which facets have letters on the page. No letter of the page comes after
 * the last one of the first page of them, so little more than the page is read. With values, only facets with one of them
 * count, and the letters are sorted by them first.
 */
async function readFacets(
  on: PgPool,
  { filter, order, startAfter, count }: Wanted,
  values?: readonly (string | number)[],
): Promise<StoredLetter[]> {
  const { sort } = order
  const column = timeColumn(order)
  const isNewestFirst = values !== undefined || order.isDescending
  const [direction, reverse] = isNewestFirst ? ['desc', 'asc'] : ['asc', 'desc']
  const facets = addFields(new Conditions(count), filter)
  if (values !== undefined)
    facets.add(values, parameter => `${valueColumn(sort)} = any ($${parameter}${castOf(sort)}[])`)
  const letters = addTimes(new Conditions(...facets.values), filter)
  // The first page has a place too: without one the planner may sort whole facets.
  const start = startAfter ?? startOf(isNewestFirst)
  const place = values === undefined ? start : { ...start, value: undefined }
  addPlace(letters, place, `d.${column}`, 'd.id', isNewestFirst)
  const valued = values === undefined ? '' : `, ${valueColumn(sort)} as value`
  const value = values === undefined ? '' : ', f.value'
  const [byValue, byValueReversed] =
    values === undefined
      ? ['', '']
      : order.isDescending
        ? ['value desc, ', 'value, ']
        : ['value, ', 'value desc, ']
  const { rows } = await runUncompiled(
    on,
    DOING,
    `with f as materialized (
       select id${valued} from lazaret.letter_facets where ${facets.text}
     ), heads as materialized (
       select f.id as facet, h.at, h.id${value} from f cross join lateral (
         select d.${column} as at, d.id from lazaret.dead_letters d
         where ${FACET} = f.id and ${letters.text} order by d.${column} ${direction}, d.id ${direction}
         limit ceil(2.0 * $1::bigint / greatest((select count(*) from f), 1))
       ) h order by ${byValue}at ${direction}, id ${direction} limit $1
     ), last as materialized (
       select * from heads where (select count(*) from heads) = $1::bigint
       order by ${byValueReversed}at ${reverse}, id ${reverse} limit 1
     ), page as materialized (
       select r.at, r.id${value} from (select distinct facet${values === undefined ? '' : ', value'} from heads) f left join last on ${values === undefined ? 'true' : 'last.value = f.value'}
       cross join lateral (
         select d.${column} as at, d.id from lazaret.dead_letters d
         where ${FACET} = f.facet and ${letters.text}
           and (d.${column}, d.id) ${isNewestFirst ? '>=' : '<='} (
             coalesce(last.at, '${isNewestFirst ? '-' : ''}infinity'), coalesce(last.id, '') collate "C")
         order by d.${column} ${direction}, d.id ${direction} limit $1
       ) r order by ${byValue}at ${direction}, id ${direction} limit $1
     )
     select ${LETTER_SELECTED} from page p join lazaret.dead_letters d on d.id = p.id
     order by ${byValue}p.at ${direction}, p.id ${direction}`,
    letters.values,
  )
  return rows
}

/** Adds the condition that a letter comes after this place, in a list by time. */
function addPlace(
  conditions: Conditions,
  { lastFailedAt, id, value = lastFailedAt }: LetterPosition,
  timeColumnName: string,
  idColumn: string,
  isDescending: boolean,
): void {
  const at = conditions.values.push(timeParameter(Number(value)))
  const comes = isDescending ? '<' : '>'
  conditions.add(
    id,
    parameter => `(${timeColumnName}, ${idColumn}) ${comes} (${asTime(at)}, $${parameter}::text collate "C")`,
  )
}

/** The place before every letter. */
function startOf(isDescending: boolean): LetterPosition {
  return { lastFailedAt: isDescending ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY, id: '' }
}

function timeColumn({ sort }: LetterOrder): string {
  return sort === 'firstFailed' ? 'first_failed_at' : 'last_failed_at'
}

function valueColumn(sort: LetterOrder['sort']): string {
  return sort === 'group' ? 'group_id' : sort
}

/** A cursor may name any number of attempts. */
function castOf(sort: LetterOrder['sort']): string {
  return sort === 'attempts' ? '::float8' : '::text'
}

/** The value of a place as a column has it. */
function boundValue({ value }: LetterPosition): string | number {
  return typeof value === 'string' ? storableText(value) : Number(value)
}
