/** 'LZRT' marks the file as a Lazaret database, so that no other database is ever changed. */
export const APPLICATION_ID = 0x4c5a5254

/**
 * Letters. `facet` stands for all that a letter can be filtered by; one index on it serves every filter, and its counts
 * are the figures. `seq` grows with every failure, so that neighbours failed at about the same time: the search index
 * (`shelves`) and the time spans in it rest on that.
 */
const LETTERS = `
create table letters(
  seq integer primary key,
  id text not null unique,
  facet integer not null,
  at integer not null,
  first_at integer not null,
  replayed integer not null,
  revision integer not null,
  search text not null,
  body text not null
);
create index letters_by_facet on letters(facet, at, id);
create table facets(
  id integer primary key,
  key text not null unique,
  channel text not null,
  handler text not null,
  type text not null,
  reason text not null,
  category text not null,
  state text not null,
  grp text not null,
  count integer not null,
  replayed integer not null,
  oldest_at integer not null,
  last_at integer not null
);
create index facets_by_group on facets(grp);
create table groups(
  id text primary key,
  title text not null,
  rule text not null,
  basis text not null,
  category text not null,
  search text not null,
  count integer not null,
  waiting integer not null,
  replayed integer not null,
  recovered integer not null,
  first_at integer not null,
  last_at integer not null
) without rowid;
create index groups_by_time on groups(last_at, id);
create table triages(grp text primary key, triage text not null, notes text not null) without rowid;
create table shelves(
  shelf integer primary key,
  earliest integer not null,
  latest integer not null,
  spans blob not null,
  grams blob not null
);
`

/**
 * The broker. A delivery is a row of one of four tables, and going on means moving from one to the next:
 *
 *   publish ─▶ (held) ─▶ ready ─▶ open ─▶ gone
 *                          ▲        │
 *                          └ waiting ◀┘ retry, release
 *
 * The rows are small and stand in the order they are taken in; the event itself lies in `events` and is written once,
 * however many handlers get it.
 */
const BROKER = `
create table handlers(
  id integer primary key,
  channel text not null,
  name text,
  by_key integer not null,
  depth integer not null,
  unique(channel, name)
);
create table events(
  seq integer primary key,
  refs integer not null,
  id text,
  key text,
  replay text,
  body not null
);
create index events_replayed on events(id, replay) where replay is not null;
create table ready(
  handler integer not null,
  place integer not null,
  seq integer not null,
  started integer not null,
  ended integer not null,
  history text,
  flags integer not null,
  primary key(handler, place)
) without rowid;
create table waiting(
  handler integer not null,
  due integer not null,
  place integer not null,
  seq integer not null,
  started integer not null,
  ended integer not null,
  history text,
  flags integer not null,
  primary key(handler, due, place)
) without rowid;
create table open(
  place integer primary key,
  owner integer not null,
  handler integer not null,
  seq integer not null,
  started integer not null,
  ended integer not null,
  history text,
  flags integer not null
);
create table held(
  handler integer not null,
  key text not null,
  place integer not null,
  seq integer not null,
  flags integer not null,
  primary key(handler, key, place)
) without rowid;
create table lanes(handler integer not null, key text not null, primary key(handler, key)) without rowid;
create table dead(
  handler integer not null,
  event text not null,
  key text,
  letter text not null,
  kept integer not null,
  primary key(handler, event)
) without rowid;
create index dead_by_letter on dead(letter);
create table owners(
  id integer primary key autoincrement,
  until integer not null,
  lease_ms integer not null,
  beats integer not null
);
`

const OTHER_TABLES = `
create table counters(name text primary key, value integer not null) without rowid;
create table ledger(
  handler text not null,
  key text not null,
  token text,
  until integer not null,
  primary key(handler, key)
) without rowid;
create table replays(
  id text primary key,
  state text not null,
  created_at integer not null,
  revision integer not null,
  body text not null,
  owner text,
  until integer not null default 0
) without rowid;
create index replays_by_time on replays(created_at);
create table replay_items(
  replay text not null,
  position integer not null,
  status text not null,
  body text not null,
  primary key(replay, position)
) without rowid;
create index replay_items_by_status on replay_items(replay, status, position);
create table audit(
  seq integer primary key,
  at integer not null,
  by text not null,
  action text not null,
  target text not null,
  detail text
);
create index audit_by_target on audit(target, seq);
create index audit_by_action on audit(action, seq);
`

/** The events that a dispatcher has not finished, and those that an earlier dispatcher left. */
const JOURNAL = `
create table journal(
  seq integer primary key,
  id text not null unique,
  body text not null,
  sinks text,
  job text
);
`

/** The state of channels over time. The rows of a channel are adjacent, so that one read finds the newest. */
const SNAPSHOTS = `
create table snapshots(
  channel text not null,
  at integer not null,
  body text not null,
  primary key(channel, at)
) without rowid;
`

/** The length of each lease and wait at the time of writing, so that a clock that is set back does not extend it. */
const DELAYS = `
alter table waiting add column delay integer;
alter table ledger add column lease integer;
alter table replays add column lease integer;
`

/**
 * The processes that work on the file, and commands to them. A command that waits has a row in `recipients` for each instance
 * that may claim it. A claim deletes them, so that looking for commands reads nothing that is claimed.
 */
const FLEET = `
create table instances(
  id text primary key,
  body text not null,
  seen_at integer not null,
  lease_ms integer not null,
  has_left integer not null
) without rowid;
create table commands(
  seq integer primary key,
  id text not null unique,
  request text not null,
  sent_at integer not null,
  ttl_ms integer not null,
  claimed_by text,
  claimed_at integer,
  ended_at integer,
  body text not null,
  outcome text
);
create index commands_by_request on commands(request, seq);
create table recipients(
  instance text not null,
  seq integer not null,
  primary key(instance, seq)
) without rowid;
create index recipients_by_command on recipients(seq);
`

/**
 * The number of attempts is one more field of a facet, so that a list can be sorted by it, and the indexes of facets have the first
 * failure too. Facets are made again, because letters of one facet may differ in their attempts. A letter that is not JSON, because a
 * codec of its own wrote it, counts as without attempts until it is written again.
 */
const SORTING = `
create table facets_before as select * from facets;
create table letter_attempts as select seq, facet,
  case when json_valid(body) then coalesce(json_extract(body, '$.cycle.attemptCount'), 0) else 0 end as attempts
  from letters;
create index letter_attempts_by_seq on letter_attempts(seq);
delete from facets;
alter table facets add column attempts integer not null default 0;
insert into facets(key, channel, handler, type, reason, category, state, grp, attempts, count, replayed, oldest_at, last_at)
  select json_array(f.channel, f.handler, f.type, f.reason, f.category, f.state, f.grp, a.attempts),
    f.channel, f.handler, f.type, f.reason, f.category, f.state, f.grp, a.attempts,
    count(*), sum(l.replayed), min(l.at), max(l.at)
  from letter_attempts a join letters l on l.seq = a.seq join facets_before f on f.id = a.facet
  group by f.id, a.attempts;
create table facet_moves as select b.id as before, f.attempts, f.id as after
  from facets f join facets_before b on b.channel = f.channel and b.handler = f.handler and b.type = f.type
    and b.reason = f.reason and b.category = f.category and b.state = f.state and b.grp = f.grp;
create index facet_moves_by_facet on facet_moves(before, attempts);
drop index letters_by_facet;
update letters set facet = (select m.after from letter_attempts a join facet_moves m
  on m.before = a.facet and m.attempts = a.attempts where a.seq = letters.seq);
drop table letter_attempts;
drop table facet_moves;
drop table facets_before;
create index letters_by_facet on letters(facet, at, id, first_at);
create index letters_by_first on letters(facet, first_at, id, at);
`

/** Letters by their first failure, for filters that most letters match. */
const FIRST_FAILURES = `
create index letters_by_first_failure on letters(first_at, id, at, facet);
`

/** Forward only: a released step is never edited, and a change is one more step at the end. */
export const MIGRATIONS: readonly string[] = [
  LETTERS + BROKER + OTHER_TABLES,
  JOURNAL,
  SNAPSHOTS,
  DELAYS,
  FLEET,
  SORTING,
  FIRST_FAILURES,
]

/** All tables of this version. */
export const TABLES: readonly string[] = MIGRATIONS.flatMap(step =>
  Array.from(step.matchAll(/create table (\w+)\(/g), ([, table]) => table!),
)
