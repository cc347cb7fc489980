import type { LetterPosition } from '../../../adapter-kit/query/letter-order.ts'
import type { LetterFilter, SeenLetter } from '../../../ports/dead-letters.ts'
import type { PgQueryable } from '../connection/client.ts'
import { Conditions } from '../connection/conditions.ts'
import { runQuery } from '../connection/query.ts'
import { asMs, storableText, timeParameter } from '../connection/values.ts'
import { addFilter, addPlace } from './letter-query.ts'

/** The versions that one statement reads. They take a few milliseconds. */
export const VERSIONS_AT_ONCE = 5_000

/** The versions of the next letters of the list, from a place on. */
export async function readVersions(
  on: PgQueryable,
  filter: LetterFilter,
  startAfter: LetterPosition | undefined,
): Promise<readonly SeenLetter[]> {
  const conditions = addFilter(new Conditions(VERSIONS_AT_ONCE), filter)
  if (startAfter !== undefined) addPlace(conditions, startAfter)
  const { rows } = await runQuery(
    on,
    'reading the versions of dead letters',
    `select id, state, ${asMs('last_failed_at')} as "lastFailedAt" from lazaret.dead_letters
     where ${conditions.text} order by last_failed_at desc, id desc limit $1`,
    conditions.values,
  )
  return rows
}

/**
 * Deletes the letters that are still as they were seen, in one statement, and returns their ids. Rows are locked in the order of
 * their ids, so that two purges of the same letters do not wait for each other.
 */
export async function deleteSeen(on: PgQueryable, seen: readonly SeenLetter[]): Promise<readonly string[]> {
  if (seen.length === 0) return []
  const columns = [
    seen.map(({ id }) => storableText(id)),
    seen.map(({ state }) => state),
    seen.map(({ lastFailedAt }) => timeParameter(lastFailedAt)),
  ]
  const { rows } = await runQuery(
    on,
    'deleting dead letters',
    `with due as materialized (
       select l.id from unnest($1::text[], $2::text[], $3::float8[]) as s(id, state, at)
       join lazaret.dead_letters l on l.id = s.id collate "C"
       where l.state = s.state and l.last_failed_at = to_timestamp(s.at / 1000)
       order by l.id for update of l
     )
     delete from lazaret.dead_letters where id = any (array(select id from due)) returning id`,
    columns,
  )
  return rows.map(({ id }: { id: string }) => id)
}
