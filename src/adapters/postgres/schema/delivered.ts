/**
 * The table for delivered rows with `delivered: 'partition'`, and the functions that remove delivered rows from either
 * table. It has a partition for each day of UTC, so that a day is dropped as a whole and leaves nothing to vacuum. A row of
 * a day without a partition goes to the default partition.
 *
 * Creating or dropping a partition locks the whole table, and while that waits for a reader every settlement waits behind
 * it. So neither waits long; it is tried again later.
 */
const SHORT_LOCK_TIMEOUT = `set lock_timeout = '100ms'`
const ROWS_PER_STEP = 10_000

export const DELIVERED = `
create table lazaret.outbox_delivered (like lazaret.outbox) partition by range (delivered_at);
create table lazaret.outbox_delivered_rest partition of lazaret.outbox_delivered default;
create index outbox_delivered_by_event on lazaret.outbox_delivered (event_id);

create function lazaret.outbox_partition(p_ahead integer default 3) returns void language plpgsql
security definer set search_path = pg_catalog, pg_temp ${SHORT_LOCK_TIMEOUT} as $$
declare
  v_today date := (pg_catalog.clock_timestamp() at time zone 'UTC')::date;
  v_day date;
  v_name text;
begin
  for v_day in select v_today + n from pg_catalog.generate_series(0, p_ahead) as n loop
    v_name := 'outbox_delivered_' || pg_catalog.to_char(v_day, 'YYYYMMDD');
    continue when pg_catalog.to_regclass('lazaret.' || v_name) is not null;
    perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('lazaret.outbox_partition'));
    begin
      execute pg_catalog.format(
        'create table if not exists lazaret.%I partition of lazaret.outbox_delivered for values from (%L) to (%L)',
        v_name, v_day::text || ' 00:00:00+00', (v_day + 1)::text || ' 00:00:00+00');
    exception when check_violation then
      -- Rows of that day are in the rest already, and stay there.
      null;
    end;
  end loop;
end
$$;

create function lazaret.outbox_drop_partitions(p_before timestamptz, p_is_counted boolean default true)
returns bigint language plpgsql security definer set search_path = pg_catalog, pg_temp ${SHORT_LOCK_TIMEOUT} as $$
declare
  v_name text;
  v_count bigint := 1;
  v_all bigint := 0;
begin
  for v_name in
    select c.relname from pg_catalog.pg_inherits i join pg_catalog.pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'lazaret.outbox_delivered'::regclass and c.relname ~ '^outbox_delivered_[0-9]{8}$'
      and ((pg_catalog.right(c.relname, 8)::date + 1)::timestamp at time zone 'UTC') <= p_before
  loop
    begin
      if p_is_counted then
        execute pg_catalog.format('select count(*) from lazaret.%I', v_name) into v_count;
      end if;
      execute pg_catalog.format('drop table lazaret.%I', v_name);
      v_all := v_all + v_count;
    exception when lock_not_available then
      raise notice 'somebody reads lazaret.outbox_delivered: % is left for another time', v_name;
      exit;
    end;
  end loop;
  delete from lazaret.outbox_delivered_rest where ctid = any (array(
    select ctid from lazaret.outbox_delivered_rest where delivered_at < p_before limit ${ROWS_PER_STEP}));
  get diagnostics v_count = row_count;
  return v_all + v_count;
end
$$;
revoke all on function lazaret.outbox_partition(integer) from public;
revoke all on function lazaret.outbox_drop_partitions(timestamptz, boolean) from public;

create function lazaret.outbox_cleanup(p_before timestamptz, p_from bigint default 0, p_rows integer default 10000,
  out deleted bigint, out next bigint) language sql
set search_path = pg_catalog, pg_temp as $$
  with looked as (
    select seq, status, delivered_at from lazaret.outbox where seq >= p_from order by seq limit p_rows
  ), gone as (
    delete from lazaret.outbox where seq = any (array(
      select seq from looked where status = 'delivered' and delivered_at < p_before)) returning 1
  )
  select (select count(*) from gone), (select max(seq) + 1 from looked)
$$;
`
