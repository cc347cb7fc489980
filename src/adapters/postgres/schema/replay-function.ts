import { BY_SQL, NOTIFY_CHANNEL } from './functions.ts'
import { MERGE_FAILED } from './merge-failed.ts'

/** What the id of a replay by SQL begins with. No entry in `replays` has such an id. */
const SQL_REPLAY_PREFIX = 'sql-'

/**
 * Gives a replay by SQL an id that nobody can guess, in the headers of the event and in its letter. Without one, any event
 * with the letter's event id and the right attempt number could resolve the letter. Otherwise the function is the one of
 * version 1, and its grants stay. It also drops the trace of an earlier replay, which this one is no part of.
 */
export const REPLAY_WITH_ID: string = replayFunction('')

/** Replays one row of each handler, however many of an event have failed for it. */
export const REPLAY_ONE_ROW: string =
  MERGE_FAILED + replayFunction('  perform lazaret.outbox_merge_failed(p_event_id, p_replayed_by, v_at);\n')

function replayFunction(before: string): string {
  return `
create or replace function lazaret.outbox_replay(p_event_id uuid, p_new_generation bigint, p_replayed_by text)
returns integer language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_at timestamptz := pg_catalog.clock_timestamp();
  v_replay_id text := '${SQL_REPLAY_PREFIX}' || pg_catalog.gen_random_uuid();
  v_row record;
  v_count integer := 0;
begin
  if p_event_id is null or pg_catalog.btrim(coalesce(p_replayed_by, '')) = '' then
    raise exception 'outbox_replay: give the event id and who replays it'
      using errcode = 'invalid_parameter_value';
  end if;
${before}  for v_row in
    update lazaret.outbox o set
      failure_history = o.failure_history || lazaret.outbox_ended_cycle(o, p_replayed_by, v_at),
      status = 'pending', attempts = 0, attempts_ended = 0, attempt_log = null, last_error = null,
      first_failed_at = null, failed_at = null, owner = null, next_attempt_at = v_at,
      generation = coalesce(p_new_generation, o.generation),
      replays = n.number, replay = '${BY_SQL}', lane = n.lane,
      seq = case when n.lane is not null and o.lane is null
        then pg_catalog.nextval(pg_catalog.pg_get_serial_sequence('lazaret.outbox', 'seq')) else o.seq end,
      headers = (o.headers - 'x-original-traceparent') || pg_catalog.jsonb_build_object(
        'x-replayed', 'true', 'x-replay-id', v_replay_id, 'x-original-id', coalesce(o.foreign_id, o.event_id::text),
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
      set state = 'replaying', replays = v_row.replays, replay_id = v_replay_id, updated_at = v_at,
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
