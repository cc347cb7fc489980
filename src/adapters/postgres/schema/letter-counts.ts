const FIELDS = 'channel, handler, type, reason, category, state, group_id, attempts'

/**
 * The counts of facets, so that no count reads the letters. Every statement that adds, changes or deletes letters adds a row for
 * each facet that it changes, and the sum of the rows of a facet is its count. No row is ever updated: writers that update one
 * row wait for each other. A reader that finds many rows replaces them by their sums (`CountFolder`).
 */
export const LETTER_COUNTS = `
create table lazaret.letter_counts (
  facet uuid not null,
  letters bigint not null,
  replayed bigint not null
);

create function lazaret.count_letters() returns trigger language plpgsql security definer
  set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    insert into lazaret.letter_counts (facet, letters, replayed)
      select lazaret.letter_facet(${FIELDS}), count(*), count(*) filter (where replays > 0) from added group by 1;
  elsif tg_op = 'DELETE' then
    insert into lazaret.letter_counts (facet, letters, replayed)
      select lazaret.letter_facet(${FIELDS}), -count(*), -count(*) filter (where replays > 0) from gone group by 1;
  elsif tg_op = 'UPDATE' then
    insert into lazaret.letter_counts (facet, letters, replayed)
      select facet, sum(letters), sum(replayed) from (
        select lazaret.letter_facet(${FIELDS}) as facet, 1 as letters, (replays > 0)::integer as replayed from added
        union all
        select lazaret.letter_facet(${FIELDS}), -1, -(replays > 0)::integer from gone
      ) changed group by facet having sum(letters) <> 0 or sum(replayed) <> 0;
  else
    -- It waits for a reader that is replacing rows by their sums. Without the lock the delete would not see these sums.
    lock table lazaret.letter_counts in exclusive mode;
    delete from lazaret.letter_counts;
  end if;
  return null;
end
$$;
revoke all on function lazaret.count_letters() from public;
lock table lazaret.dead_letters in share row exclusive mode;
create trigger count_added after insert on lazaret.dead_letters
  referencing new table as added for each statement execute function lazaret.count_letters();
create trigger count_changed after update on lazaret.dead_letters
  referencing new table as added old table as gone for each statement execute function lazaret.count_letters();
create trigger count_deleted after delete on lazaret.dead_letters
  referencing old table as gone for each statement execute function lazaret.count_letters();
create trigger count_truncated after truncate on lazaret.dead_letters
  for each statement execute function lazaret.count_letters();
insert into lazaret.letter_counts (facet, letters, replayed)
  select lazaret.letter_facet(${FIELDS}), count(*), count(*) filter (where replays > 0)
  from lazaret.dead_letters group by 1;
analyze lazaret.letter_counts;
`
