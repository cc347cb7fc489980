/**
 * Removes delivered rows, and failed rows that nobody needs any more: a person discarded the event or deleted its letter before
 * `p_before`, and no letter of it is in this database. A letter that exists may be reopened and replayed, so its row stays
 * with it. A row that is dead and not deleted is a letter itself, and stays.
 *
 * Somebody may publish the event again at this moment, which makes its row pending. So the deletion looks at the row itself
 * once more when it has its lock. The letter is looked up row by row: with `exists` the planner may read all letters instead.
 *
 * Nearly all rows after a young one are young. A step that finds only young rows is the last one, so that the next one begins
 * with the oldest rows again. `hasNext` says of the rows of a step whether it is not the last one.
 */
const cleanup = (hasNext: string) => `
create or replace function lazaret.outbox_cleanup(p_before timestamptz, p_from bigint default 0, p_rows integer default 10000,
  out deleted bigint, out next bigint) language sql
set search_path = pg_catalog, pg_temp as $$
  with looked as (
    select seq, status, created_at, delivered_at, deleted_at, letter_id from lazaret.outbox
    where seq >= p_from order by seq limit p_rows
  ), gone as (
    delete from lazaret.outbox o
    where o.seq = any (array(
        select l.seq from looked l
        where (l.status = 'delivered' and l.delivered_at < p_before)
          or (l.status = 'failed' and l.deleted_at < p_before
            and (select d.id from lazaret.dead_letters d where d.id = l.letter_id) is null)))
      and (o.status = 'delivered'
        or (o.status = 'failed' and o.deleted_at < p_before and o.discarded_at is not null and o.lane is null))
    returning o.status
  ), audited as (
    insert into lazaret.audit (at, by, action, target, detail)
    select pg_catalog.clock_timestamp(), 'retention', 'outbox.expire', 'failed rows whose letters are deleted',
      pg_catalog.json_build_object('rows', count(*))
    from gone where status = 'failed' having count(*) > 0
  )
  select (select count(*) from gone),
    (select max(seq) + 1 from looked having ${hasNext})
$$;
`

const HAS_OLD_ROW = 'min(least(created_at, delivered_at)) < p_before'

export const DECIDED_ROWS = cleanup(HAS_OLD_ROW)

/**
 * While the clock of the server is ahead, rows are created with times that lie in the future once the clock is right again. Such
 * a row does not show that the rows after it are young.
 */
export const ROWS_FROM_THE_FUTURE = cleanup(
  `${HAS_OLD_ROW}
      or not bool_or(created_at between p_before and pg_catalog.clock_timestamp())`,
)
