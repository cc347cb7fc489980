/** The NOTIFY channel. A message says that there may be something to claim in the channel of events that it names. */
export const NOTIFY_CHANNEL = 'lazaret_outbox'
/** The NOTIFY channel of commands. A message names the instances that may have one to claim. */
export const COMMANDS_CHANNEL = 'lazaret_commands'

/** The lanes of a handler share this many locks, because the server has a bounded number of them. */
const LANE_LOCKS = 1_024

/**
 * Whether another row holds up a row of a lane: an earlier one that is in flight or dead, or any that is in flight. A later
 * row can be in flight when the transaction of this one took longer.
 */
export const IS_BLOCKED = (row: string): string => `exists (
    select from lazaret.outbox b
    where b.channel = ${row}.channel and b.target = ${row}.target and b.lane = ${row}.lane
      and b.owner is not null and b.lane is not null and (b.seq < ${row}.seq or b.status = 'in_flight'))`

/**
 * Makes the rows of dead processes pending. Each statement in it sees what was committed before it began: it deletes an
 * owner first, from then on that owner can claim nothing, and only then looks for its rows. A caller that cannot tell
 * whether the others were able to renew their leases asks for resigned owners only. A caller whose own lease is over
 * cannot tell either. The function checks that itself, because the server may have stood still since the caller asked.
 */
const RECLAIM = `
create function lazaret.outbox_reclaim(p_resigned_only boolean default false, p_asker bigint default null)
returns integer language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  v_owner record;
  v_rows integer;
  v_count integer := 0;
  v_resigned_only boolean := p_resigned_only or (p_asker is not null and not exists (
    select from lazaret.outbox_owners where id = p_asker and lease_until >= pg_catalog.clock_timestamp()));
begin
  for v_owner in
    delete from lazaret.outbox_owners where id = any (array(
      select id from lazaret.outbox_owners where lease_until < pg_catalog.clock_timestamp()
        and (lease_until = '-infinity' or not v_resigned_only)
      for update skip locked))
    returning id, running
  loop
    update lazaret.outbox o
      set status = 'pending', owner = null,
        attempts = o.attempts + case when o.seq = any (v_owner.running) then 1 else 0 end
      where o.seq = any (array(
          select pg_catalog.unnest(c.seqs) from lazaret.outbox_claims c where c.owner = v_owner.id))
        and o.owner = v_owner.id and o.status = 'in_flight';
    get diagnostics v_rows = row_count;
    delete from lazaret.outbox_claims where owner = v_owner.id;
    v_count := v_count + v_rows;
  end loop;
  return v_count;
end
$$;
`

/**
 * Makes rows pending that are in flight for an owner that does not exist, among the next `p_rows` rows by number. An
 * owner that is gone claims nothing any more and its number is never used again, so all rows that name it can be taken.
 */
const STRAYS = `
create function lazaret.outbox_give_back_strays(p_from bigint, p_rows integer, out found integer, out next bigint)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_seqs bigint[];
  v_owners bigint[];
begin
  select pg_catalog.max(l.seq) + 1,
    pg_catalog.array_agg(l.seq) filter (where l.is_stray), pg_catalog.array_agg(distinct l.owner) filter (where l.is_stray)
    into next, v_seqs, v_owners
  from (
    select o.seq, o.owner, o.status = 'in_flight' and not exists (
        select from lazaret.outbox_owners w where w.id = o.owner) as is_stray
    from lazaret.outbox o where o.seq >= p_from order by o.seq limit p_rows
  ) l;
  update lazaret.outbox o set status = 'pending', owner = null
    where o.seq = any (v_seqs) and o.owner = any (v_owners) and o.status = 'in_flight';
  get diagnostics found = row_count;
end
$$;
`

/**
 * Claims those of the rows that are still the first of their lane. Each statement in it sees what was committed before it
 * began, so the claim sees every other claim in the lane that was made before the lock. A lane that another process has
 * locked is left to that process.
 */
const CLAIM_FIRST = `
create function lazaret.outbox_claim_first(p_channel text, p_handler text, p_owner bigint, p_generation bigint,
  p_seqs bigint[], p_number bigint, p_ended bigint[])
returns setof lazaret.outbox language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_free bigint[];
begin
  delete from lazaret.outbox_claims where owner = p_owner and number = any (p_ended);
  perform from lazaret.outbox_owners where id = p_owner for key share;
  if not found then return; end if;
  v_free := array(
    select o.seq from lazaret.outbox o where o.seq = any (p_seqs) and o.lane is not null
      and pg_catalog.pg_try_advisory_xact_lock(
        pg_catalog.hashtext(p_channel || pg_catalog.chr(30) || p_handler), pg_catalog.hashtext(o.lane) & ${LANE_LOCKS - 1}));
  v_free := array(
    select c.seq from lazaret.outbox c
    where c.seq = any (v_free) and c.channel = p_channel and c.target = p_handler and c.owner is null
      and c.next_attempt_at <= pg_catalog.statement_timestamp() and c.generation <= p_generation
      and not ${IS_BLOCKED('c')} and not exists (
        select from lazaret.outbox e
        where e.channel = c.channel and e.target = c.target and e.lane = c.lane and e.owner is null and e.seq < c.seq)
    for update skip locked);
  if pg_catalog.cardinality(v_free) = 0 then return; end if;
  insert into lazaret.outbox_claims (owner, number, seqs) values (p_owner, p_number, v_free);
  return query update lazaret.outbox o set status = 'in_flight', owner = p_owner
    where o.seq = any (v_free) returning o.*;
end
$$;
`

const COPIED = `event_id, foreign_id, idempotency_key, channel, type, key, source, payload, payload_bytes, sealed,
      headers, generation, next_attempt_at, occurred_at, expires_at, created_at`
const copiedOf = (row: string) => COPIED.replaceAll(/\w+/g, `${row}.$&`)

/**
 * Gives a row that another program inserted without a handler to the first handler of the channel, and a copy to each of
 * the others. Rows of the library name their handlers already, and the trigger does not fire for them. An empty key counts
 * as no key.
 */
const FAN_OUT = `
create function lazaret.outbox_fan_out() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  v_handler record;
begin
  for v_handler in
    select handler, by_key from lazaret.outbox_handlers where channel = new.channel order by registered_at, handler
  loop
    if new.target is null then
      new.target := v_handler.handler;
      new.lane := case when v_handler.by_key then nullif(new.key, '') end;
      perform pg_catalog.pg_notify('${NOTIFY_CHANNEL}', new.channel);
    else
      insert into lazaret.outbox (${COPIED}, target, lane)
        values (${copiedOf('new')}, v_handler.handler, case when v_handler.by_key then nullif(new.key, '') end);
    end if;
  end loop;
  return new;
end
$$;
create trigger outbox_fan_out before insert on lazaret.outbox
  for each row when (new.target is null) execute function lazaret.outbox_fan_out();
`

/**
 * Gives rows from before the channel had a handler to the handlers it has now: the row itself to the first one, and a copy
 * to each of the others.
 */
const ADOPT = `
create function lazaret.outbox_adopt(p_channel text) returns integer language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  v_first record;
  v_seqs bigint[];
begin
  v_seqs := array(select seq from lazaret.outbox where channel = p_channel and target is null
    order by seq limit 1000 for update skip locked);
  if pg_catalog.cardinality(v_seqs) = 0 then return 0; end if;
  select handler, by_key into v_first from lazaret.outbox_handlers
    where channel = p_channel order by registered_at, handler limit 1;
  if not found then return 0; end if;
  insert into lazaret.outbox (${COPIED}, target, lane)
    select ${copiedOf('o')}, h.handler, case when h.by_key then nullif(o.key, '') end
    from lazaret.outbox o join lazaret.outbox_handlers h on h.channel = p_channel and h.handler <> v_first.handler
    where o.seq = any (v_seqs) order by o.seq;
  update lazaret.outbox set target = v_first.handler, lane = case when v_first.by_key then nullif(key, '') end
    where seq = any (v_seqs);
  return pg_catalog.cardinality(v_seqs);
end
$$;
`

/**
 * Keeps letters and rows of the outbox in step, whichever of the two a person changes. A trigger for each row would make
 * every claim and every settlement lock and read its rows once more, even when it does not fire. So the outbox has one for
 * each statement, and an index of the rows whose deletion the letters do not show yet.
 */
const IN_STEP = `
create function lazaret.letter_to_outbox() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  v_told integer;
begin
  if tg_op = 'UPDATE' and old.state in ('resolved', 'discarded') and new.state in ('dead', 'quarantined', 'parked') then
    update lazaret.outbox set deleted_at = null, discarded_at = null
      where letter_id = new.id and status = 'failed' and deleted_at is not null;
  elsif tg_op = 'DELETE' or new.state in ('resolved', 'discarded') then
    -- What was published twice may have failed twice, and has one letter.
    with changed as (
      update lazaret.outbox
        set deleted_at = pg_catalog.clock_timestamp(), discarded_at = pg_catalog.clock_timestamp(), lane = null
        where letter_id = old.id and status = 'failed' and deleted_at is null returning channel
    )
    select count(pg_catalog.pg_notify('${NOTIFY_CHANNEL}', c.channel)) into v_told
      from (select distinct channel from changed) c;
  end if;
  return null;
end
$$;
create trigger letter_to_outbox after delete or update of state on lazaret.dead_letters
  for each row execute function lazaret.letter_to_outbox();

create function lazaret.outbox_to_letter() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  v_told integer;
begin
  with changed as (
    update lazaret.outbox o
      set discarded_at = o.deleted_at, lane = case when o.deleted_at is null then o.lane end
      where (o.deleted_at is null) <> (o.discarded_at is null)
      returning o.channel, o.letter_id, o.deleted_at
  ), discarded as (
    update lazaret.dead_letters l
      set state = 'discarded', updated_at = c.deleted_at, revision = l.revision + 1
      from changed c
      where l.id = c.letter_id and c.deleted_at is not null and l.state in ('dead', 'quarantined', 'parked')
  )
  select count(pg_catalog.pg_notify('${NOTIFY_CHANNEL}', c.channel)) into v_told
    from (select distinct channel from changed where deleted_at is not null) c;
  return null;
end
$$;
create trigger outbox_to_letter after update of deleted_at on lazaret.outbox
  for each statement execute function lazaret.outbox_to_letter();
`

export const FUNCTIONS: string = RECLAIM + STRAYS + CLAIM_FIRST + FAN_OUT + ADOPT + IN_STEP
