import { NOTIFY_CHANNEL } from './functions.ts'

/** The `replay` of a row that SQL replayed. */
export const BY_SQL = 'outbox_replay'

/** The cycle that a replay ends, as `failure_history` keeps it. Later versions may add fields and never remove one. */
const ENDED_CYCLE = `
create function lazaret.outbox_ended_cycle(p_row lazaret.outbox, p_replayed_by text, p_at timestamptz)
returns jsonb language sql stable set search_path = pg_catalog, pg_temp as $$
  select pg_catalog.jsonb_build_object(
    'generation', p_row.generation, 'attempts', p_row.attempts, 'last_error', p_row.last_error,
    'first_failed_at', p_row.first_failed_at, 'failed_at', p_row.failed_at,
    'replayed_by', p_replayed_by, 'replayed_at', p_at)
$$;
`

/**
 * Replays in place whatever failed of an event. If two sessions call it at the same moment, the second waits for the
 * first, finds no failed row and does nothing. A row keeps its place in the order of its key; if the key was unblocked,
 * later rows may have overtaken it, so it goes to the end.
 *
 * Since version 3 a replay by SQL has an id that nobody can guess, in the headers of the event and in its letter. Without
 * one, any event with the letter's event id and the right attempt number could resolve the letter. It also drops the
 * trace of an earlier replay, which it does not belong to. No entry in `replays` has an id that begins with `sql-`.
 * Version 4 replays one row of each handler, however many of an event have failed for it.
 */
function replayFunction(version: 1 | 3 | 4): string {
  const hasId = version >= 3
  const mergesRows = version >= 4
  return `
create ${hasId ? 'or replace ' : ''}function lazaret.outbox_replay(p_event_id uuid, p_new_generation bigint, p_replayed_by text)
returns integer language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_at timestamptz := pg_catalog.clock_timestamp();
${hasId ? `  v_replay_id text := 'sql-' || pg_catalog.gen_random_uuid();\n` : ''}  v_row record;
  v_count integer := 0;
begin
  if p_event_id is null or pg_catalog.btrim(coalesce(p_replayed_by, '')) = '' then
    raise exception 'outbox_replay: give the event id and who replays it'
      using errcode = 'invalid_parameter_value';
  end if;
${mergesRows ? '  perform lazaret.outbox_merge_failed(p_event_id, p_replayed_by, v_at);\n' : ''}  for v_row in
    update lazaret.outbox o set
      failure_history = o.failure_history || lazaret.outbox_ended_cycle(o, p_replayed_by, v_at),
      status = 'pending', attempts = 0, attempts_ended = 0, attempt_log = null, last_error = null,
      first_failed_at = null, failed_at = null, owner = null, next_attempt_at = v_at,
      generation = coalesce(p_new_generation, o.generation),
      replays = n.number, replay = '${BY_SQL}', lane = n.lane,
      seq = case when n.lane is not null and o.lane is null
        then pg_catalog.nextval(pg_catalog.pg_get_serial_sequence('lazaret.outbox', 'seq')) else o.seq end,
      headers = (o.headers - '${hasId ? 'x-original-traceparent' : 'x-replay-id'}') || pg_catalog.jsonb_build_object(
        'x-replayed', 'true', ${hasId ? `'x-replay-id', v_replay_id, ` : ''}'x-original-id', coalesce(o.foreign_id, o.event_id::text),
        'x-replay-attempt', n.number::text, 'x-replay-handler', o.target,
        'x-idempotency-key', coalesce(o.idempotency_key, o.foreign_id, o.event_id::text))
    from (
      select f.seq, greatest(f.replays, coalesce(l.replays, 0)) + 1 as number, case when h.by_key then nullif(f.key, '') end as lane
      from lazaret.outbox f left join lazaret.dead_letters l on l.id = f.letter_id
        left join lazaret.outbox_handlers h on h.channel = f.channel and h.handler = f.target
      where f.event_id = p_event_id and f.failed_at is not null
    ) n
    where o.seq = n.seq and o.status = 'failed' and o.deleted_at is null
    returning o.channel, o.letter_id, o.replays, o.generation
  loop
    v_count := v_count + 1;
    update lazaret.dead_letters l
      set state = 'replaying', replays = v_row.replays, replay_id = ${hasId ? 'v_replay_id' : 'null'}, updated_at = v_at,
        revision = l.revision + 1
      where l.id = v_row.letter_id and l.state in ('dead', 'quarantined', 'parked');
    insert into lazaret.audit (at, by, action, target, detail)
      values (v_at, p_replayed_by, 'outbox.replay', p_event_id::text,
        pg_catalog.json_build_object('channel', v_row.channel, 'generation', v_row.generation));
    perform pg_catalog.pg_notify('${NOTIFY_CHANNEL}', v_row.channel);
  end loop;
  return v_count;
end
$$;
`
}

/**
 * Decides which failed row of one event and handler is replayed. An event that was published twice may have failed twice,
 * but has one letter. So a replay keeps one row: the one that blocks the key, or else the one that failed last. The
 * others are deleted, and its history takes over theirs.
 */
export const RANK_OF_FAILED = `dense_rank() over (partition by o.event_id, o.channel, o.target
    order by o.lane is null, o.failed_at desc, o.seq desc)`

/**
 * Deletes all rows of `failed` but the first of each event and handler. `merged` is what the remaining rows take over.
 * `replayedBy` says who replays and when, as `outbox_ended_cycle` takes it; in it `e` is a row of `failed`.
 */
export const mergeFailed = (replayedBy: string): string => `others as (
  delete from lazaret.outbox o using failed e
  where o.seq = e.seq and e.rank > 1 and o.failed_at is not null and o.status = 'failed'
  returning o.event_id, o.channel, o.target, o.failed_at, o.replays, o.letter_kept,
    o.failure_history || lazaret.outbox_ended_cycle(o, ${replayedBy}) as history
), merged as (
  select event_id, channel, target, max(replays) as replays, bool_or(letter_kept) as letter_kept,
    jsonb_agg(cycle order by failed_at, position) as history
  from others, jsonb_array_elements(history) with ordinality as cycles(cycle, position)
  group by event_id, channel, target
)`

/** Each statement sees what was committed before it began. If two sessions merge at the same moment, the second finds one row. */
const MERGE_FAILED = `
create function lazaret.outbox_merge_failed(p_event_id uuid, p_replayed_by text, p_at timestamptz)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform from lazaret.outbox where event_id = p_event_id and failed_at is not null order by seq for update;
  with failed as (
    select o.seq, ${RANK_OF_FAILED} as rank from lazaret.outbox o
    where o.event_id = p_event_id and o.failed_at is not null and o.status = 'failed' and o.deleted_at is null
  ), ${mergeFailed('p_replayed_by, p_at')}
  update lazaret.outbox o set
    failure_history = m.history || o.failure_history, replays = greatest(o.replays, m.replays),
    letter_kept = o.letter_kept or m.letter_kept
  from failed e, merged m
  where o.seq = e.seq and e.rank = 1 and o.channel = m.channel and o.target = m.target;
end
$$;
`

/** The objects that version 1 creates. */
export const REPLAY: string = `${ENDED_CYCLE}${replayFunction(1)}revoke all on function lazaret.outbox_replay(uuid, bigint, text) from public;
`
export const REPLAY_WITH_ID: string = replayFunction(3)
export const REPLAY_ONE_ROW: string = MERGE_FAILED + replayFunction(4)
