/**
 * 'LZRP': a transaction that publishes replays, marks a row as dead or unblocks a key holds locks of this class. Events share
 * them, because the server has a bounded number.
 */
export const REPLAY_LOCKS = 0x4c5a5250
/** The number of the lock of an event; `id` is its `event_id` as text. */
export const REPLAY_LOCK = (id: string): string => `hashtext(${id}) & 1023`

/**
 * Unblocks the key of a failed row. Its letter may be in another store, and is saved before its row is dead. So a person may
 * decide about the letter while the row is in flight: then the row keeps the time of that, and leaves its lane when it fails.
 * An event that fails once more after that time blocks its key again. Each statement sees what was committed before it began,
 * so the row is either in flight or dead here.
 */
export const UNBLOCK = `
alter table lazaret.outbox add column unblocked_at timestamptz;
comment on column lazaret.outbox.unblocked_at is 'When a person unblocked its key while it was in flight.';

create function lazaret.outbox_unblock(p_channel text, p_event_id uuid, p_handler text, p_at timestamptz)
returns boolean language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_catalog.pg_advisory_xact_lock(${REPLAY_LOCKS}, pg_catalog.${REPLAY_LOCK('p_event_id::text')});
  update lazaret.outbox o set unblocked_at = p_at
    where o.seq = any (array(select pg_catalog.unnest(c.seqs) from lazaret.outbox_claims c))
      and o.event_id = p_event_id and o.status = 'in_flight' and o.channel = p_channel and o.lane is not null
      and o.target = coalesce(p_handler, o.target);
  update lazaret.outbox o set lane = null
    where o.event_id = p_event_id and o.failed_at is not null and o.channel = p_channel and o.lane is not null
      and o.target = coalesce(p_handler, o.target);
  return found;
end
$$;
`
