/**
 * An event that was published twice may have failed twice for one handler. It has one letter, so one replay of it is one
 * row: the one that holds the key, else the one that failed last. The others are deleted, and its history tells of them.
 */
export const RANK_OF_FAILED = `dense_rank() over (partition by o.event_id, o.channel, o.target
    order by o.lane is null, o.failed_at desc, o.seq desc)`

/**
 * Deletes all of `failed` but the first of each event and handler. `merged` is what those that stay take over.
 * `replayedBy` is who replays, and when, as `outbox_ended_cycle` takes it; `e` is a row of `failed` in it.
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

/** Each statement sees what was committed before it began: of two who merge at the same moment, the second finds one row. */
export const MERGE_FAILED = `
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
