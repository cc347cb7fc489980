/**
 * Views and functions for people with psql who decide about letters of any broker or sink. A view shows no payload, no key
 * and no search text, so a role that may read the view sees less than one that may read the table. The functions have the
 * rights of their owner: a role that may only call them cannot change a letter in another way.
 */
const VIEWS = `
create view lazaret.letters as
  select id, channel, handler, event_id, type, reason, category, state, group_id, error, attempts, replays, replay_id,
    first_failed_at, last_failed_at, created_at, updated_at, expires_at
  from lazaret.dead_letters;
comment on view lazaret.letters is 'Dead letters of all brokers and sinks, without payload and key.';

create view lazaret.letter_groups as
  select t.group_id, g.title, g.category, t.channels, t.letters, t.waiting, t.first_failed_at, t.last_failed_at,
    case
      when g.triage ->> 'state' = 'muted'
        and (g.triage ->> 'mutedUntil')::float8 <= extract(epoch from clock_timestamp()) * 1000 then 'open'
      when g.triage ->> 'state' = 'resolved'
        and extract(epoch from t.last_failed_at) * 1000 > coalesce((g.triage ->> 'setAt')::float8, 0) then 'open'
      else coalesce(g.triage ->> 'state', 'open')
    end as state,
    g.triage ->> 'owner' as owner, g.triage ->> 'link' as link
  from (
    select group_id, array_agg(distinct channel) as channels, count(*) as letters,
      count(*) filter (where state in ('dead', 'quarantined', 'parked')) as waiting,
      min(first_failed_at) as first_failed_at, max(last_failed_at) as last_failed_at
    from lazaret.dead_letters group by group_id
  ) t join lazaret.groups g on g.id = t.group_id;
comment on view lazaret.letter_groups is 'Letters of one cause, how many wait, and what people decided about them.';
`

/** The beginning of every function: nobody decides without a name. */
const REQUIRE_NAME = `if coalesce(p_by, '') = '' then
    raise exception 'p_by is empty' using errcode = '22023', hint = 'Give your name: the audit log records who decided.';
  end if;`

/** The audit log has the same entries as for a decision in the console. */
const decision = (name: string, action: string, to: string, from: string): string => `
create function lazaret.${name}(p_id text, p_by text, p_note text default null)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_at timestamptz := pg_catalog.date_trunc('milliseconds', pg_catalog.clock_timestamp());
begin
  ${REQUIRE_NAME}
  update lazaret.dead_letters l set state = '${to}', updated_at = v_at, revision = l.revision + 1
    where l.id = p_id and l.state in (${from});
  if not found then return false; end if;
  insert into lazaret.audit (at, by, action, target, detail)
    values (v_at, p_by, '${action}', p_id,
      case when p_note is not null then pg_catalog.json_build_object('note', p_note) end);
  return true;
end
$$;
revoke all on function lazaret.${name}(text, text, text) from public;
`

const TRIAGE = `
create function lazaret.group_triage(p_group text, p_state text, p_by text, p_owner text default null,
  p_note text default null, p_muted_until timestamptz default null)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_at timestamptz := pg_catalog.date_trunc('milliseconds', pg_catalog.clock_timestamp());
  v_ms float8 := extract(epoch from v_at) * 1000;
  v_triage jsonb;
begin
  ${REQUIRE_NAME}
  if p_state is null or p_state not in ('open', 'acknowledged', 'muted', 'resolved') then
    raise exception 'p_state is %', coalesce(p_state, 'null')
      using errcode = '22023', hint = 'Give open, acknowledged, muted or resolved.';
  end if;
  select coalesce(g.triage::jsonb, '{}') - 'mutedUntil' into v_triage from lazaret.groups g
    where g.id = p_group and exists (select from lazaret.dead_letters l where l.group_id = g.id) for update;
  if not found then return false; end if;
  v_triage := v_triage || pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('state', p_state, 'setAt', v_ms,
    'setBy', p_by, 'owner', p_owner,
    'mutedUntil', case when p_state = 'muted' then extract(epoch from p_muted_until) * 1000 end));
  update lazaret.groups g set triage = v_triage::json,
      notes = case when p_note is null then g.notes else
        (g.notes::jsonb || pg_catalog.jsonb_build_object('at', v_ms, 'by', p_by, 'text', p_note))::json end
    where g.id = p_group;
  insert into lazaret.audit (at, by, action, target, detail)
    values (v_at, p_by,
      case p_state when 'open' then 'group.open' when 'acknowledged' then 'group.ack' when 'muted' then 'group.mute'
        else 'group.resolve' end,
      p_group, pg_catalog.json_strip_nulls(pg_catalog.json_build_object('owner', p_owner, 'note', p_note)));
  return true;
end
$$;
revoke all on function lazaret.group_triage(text, text, text, text, text, timestamptz) from public;
`

/** The objects that version 5 creates. */
export const LETTER_FUNCTIONS: string =
  VIEWS +
  decision('letter_discard', 'letter.discard', 'discarded', "'dead', 'quarantined', 'parked'") +
  decision('letter_reopen', 'letter.reopen', 'dead', "'parked', 'quarantined', 'discarded'") +
  TRIAGE
