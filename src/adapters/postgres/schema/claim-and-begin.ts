/**
 * Claims rows outside of lanes and records that the attempt of the first one begins, in one transaction: an event that arrives alone
 * reaches its handler after one statement. The server keeps the plans of a function for as long as the connection, so that the claim
 * is not planned again each time. The setting keeps a plan from the time when the table was small from reading all of a large one.
 *
 * The owner is locked after the rows are picked and before any of them changes. An owner that is gone claims nothing, and the
 * process that ends an owner waits until the claim is recorded. A claim that finds nothing writes nothing.
 */
export const CLAIM_AND_BEGIN = `
create function lazaret.outbox_claim_and_begin(p_channel text, p_handler text, p_owner bigint, p_generation bigint,
  p_limit integer, p_number bigint, p_ended bigint[], p_running bigint[])
returns setof text language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  v_seqs bigint[];
begin
  if pg_catalog.cardinality(p_ended) > 0 then
    delete from lazaret.outbox_claims where owner = p_owner and number = any (p_ended);
  end if;
  v_seqs := array(
    select c.seq from lazaret.outbox c
    where c.channel = p_channel and c.target = p_handler and c.owner is null
      and c.next_attempt_at <= pg_catalog.statement_timestamp() and c.generation <= p_generation
      and c.lane is null order by c.next_attempt_at, c.seq limit p_limit for update skip locked);
  if pg_catalog.cardinality(v_seqs) = 0 then return; end if;
  update lazaret.outbox_owners set running = p_running || v_seqs[1] where id = p_owner;
  if not found then return; end if;
  insert into lazaret.outbox_claims (owner, number, seqs) values (p_owner, p_number, v_seqs);
  return query with claimed as (
      update lazaret.outbox o set status = 'in_flight', owner = p_owner where o.seq = any (v_seqs) returning o.*)
    select pg_catalog.json_build_array(o.seq, pg_catalog.date_part('epoch', o.next_attempt_at), o.attempts, o.attempts_ended,
      o.event_id, o.idempotency_key, o.type, o.payload, o.headers, pg_catalog.date_part('epoch', o.occurred_at) * 1000,
      case when pg_catalog.num_nonnulls(o.attempt_log, o.letter_id, o.foreign_id, o.key, o.source, o.payload_bytes, o.sealed,
          o.expires_at) > 0
        then pg_catalog.json_build_array(o.attempt_log, o.letter_id, o.letter_kept, o.foreign_id, o.key, o.source,
          pg_catalog.encode(o.payload_bytes, 'base64'), o.sealed, pg_catalog.date_part('epoch', o.expires_at) * 1000) end)::text
    from claimed o order by o.next_attempt_at, o.seq;
end
$$;
`
