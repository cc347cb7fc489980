import { NOTIFY_CHANNEL } from './functions.ts'

/**
 * Deleting many letters. The trigger for each row searched the outbox once for each deleted letter, which took most of the time of a
 * purge. One for each statement searches for all of them at once. The settings keep the planner at the index of the outbox:
 * it does not know how many letters a statement deletes.
 */
export const LETTER_DELETIONS = `
create function lazaret.letters_deleted() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_told integer;
begin
  with changed as (
    update lazaret.outbox o
      set deleted_at = pg_catalog.clock_timestamp(), discarded_at = pg_catalog.clock_timestamp(), lane = null
      from gone
      where o.letter_id = gone.id and o.status = 'failed' and o.deleted_at is null returning o.channel
  )
  select count(pg_catalog.pg_notify('${NOTIFY_CHANNEL}', c.channel)) into v_told
    from (select distinct channel from changed) c;
  return null;
end
$$;
drop trigger letter_to_outbox on lazaret.dead_letters;
create trigger letter_to_outbox after update of state on lazaret.dead_letters
  for each row execute function lazaret.letter_to_outbox();
create trigger letters_deleted after delete on lazaret.dead_letters
  referencing old table as gone for each statement execute function lazaret.letters_deleted();
`
