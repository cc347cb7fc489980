/**
 * The facets of letters: every combination of what filters compare and lists are sorted by, apart from times. A million letters have a few
 * thousand. The letters of one facet are side by side in an index by time, so a page of any filter in any order is a merge of some facets,
 * however deep the page is and however rare its letters are.
 *
 * The index has the facet of a letter as an expression, so no column is added and no row is written again. The trigger adds a
 * facet with its first letter. A facet without letters may stay; it costs one look into the index.
 */
export const LETTER_FACETS = `
create function lazaret.letter_facet(channel text, handler text, type text, reason text, category text, state text,
  group_id text, attempts integer) returns uuid language sql immutable parallel safe
  as $$ select md5(channel || chr(31) || handler || chr(31) || type || chr(31) || reason || chr(31) || category || chr(31)
    || state || chr(31) || group_id || chr(31) || attempts::text)::uuid $$;

create table lazaret.letter_facets (
  id uuid primary key,
  channel text collate "C" not null,
  handler text collate "C" not null,
  type text collate "C" not null,
  reason text collate "C" not null,
  category text collate "C" not null,
  state text collate "C" not null,
  group_id text collate "C" not null,
  attempts integer not null
);
create index letter_facets_by_group on lazaret.letter_facets (group_id);

create function lazaret.add_letter_facet() returns trigger language plpgsql security definer
  set search_path = pg_catalog, pg_temp as $$
declare
  v_id uuid := lazaret.letter_facet(new.channel, new.handler, new.type, new.reason, new.category, new.state, new.group_id,
    new.attempts);
begin
  if not exists (select from lazaret.letter_facets f where f.id = v_id) then
    insert into lazaret.letter_facets (id, channel, handler, type, reason, category, state, group_id, attempts)
      values (v_id, new.channel, new.handler, new.type, new.reason, new.category, new.state, new.group_id, new.attempts)
      on conflict (id) do nothing;
  end if;
  return null;
end
$$;
revoke all on function lazaret.add_letter_facet() from public;
lock table lazaret.dead_letters in share row exclusive mode;
create trigger letter_facet after insert or update on lazaret.dead_letters
  for each row execute function lazaret.add_letter_facet();
insert into lazaret.letter_facets (id, channel, handler, type, reason, category, state, group_id, attempts)
  select distinct lazaret.letter_facet(channel, handler, type, reason, category, state, group_id, attempts),
    channel, handler, type, reason, category, state, group_id, attempts
  from lazaret.dead_letters;
create index dead_letters_by_facet on lazaret.dead_letters
  (lazaret.letter_facet(channel, handler, type, reason, category, state, group_id, attempts), last_failed_at desc, id desc);
create index dead_letters_by_facet_first on lazaret.dead_letters
  (lazaret.letter_facet(channel, handler, type, reason, category, state, group_id, attempts), first_failed_at desc, id desc);
create index dead_letters_by_first on lazaret.dead_letters (first_failed_at desc, id desc);
drop index lazaret.dead_letters_by_state;
drop index lazaret.dead_letters_by_channel;
analyze lazaret.dead_letters;
analyze lazaret.letter_facets;
`
