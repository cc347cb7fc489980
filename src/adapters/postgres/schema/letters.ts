/**
 * Dead letters, whichever broker their events came from. The columns are what letters are found and counted by; `body`
 * is the whole letter as the codec wrote it. `state`, `replays`, `replay_id` and `updated_at` are read from the columns,
 * so that SQL can change them too.
 */
export const LETTERS = `
create table lazaret.dead_letters (
  id text collate "C" primary key,
  channel text collate "C" not null,
  handler text collate "C" not null,
  event_id text not null,
  type text collate "C" not null,
  key text,
  reason text collate "C" not null,
  category text collate "C" not null,
  state text collate "C" not null,
  group_id text collate "C" not null,
  error text,
  attempts integer not null,
  replays integer not null,
  replay_id text,
  first_failed_at timestamptz not null,
  last_failed_at timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  expires_at timestamptz,
  revision bigint not null default 0,
  search text not null,
  body text not null
);
create index dead_letters_by_time on lazaret.dead_letters (last_failed_at desc, id desc);
create index dead_letters_by_group on lazaret.dead_letters (group_id, last_failed_at desc, id desc)
  include (state, replays, first_failed_at);
create index dead_letters_counts on lazaret.dead_letters (channel, reason, state, last_failed_at);
create index dead_letters_by_state on lazaret.dead_letters (state, last_failed_at desc, id desc);
create index dead_letters_by_channel on lazaret.dead_letters (channel, last_failed_at desc, id desc);

create table lazaret.groups (
  id text collate "C" primary key,
  title text not null,
  rule text not null,
  basis text not null,
  category text not null,
  search text not null,
  triage json,
  notes json not null default '[]'
);
`

export const OPERATING = `
create table lazaret.replays (
  id text collate "C" primary key,
  state text not null,
  created_at timestamptz not null,
  revision integer not null,
  runner text,
  lease_until timestamptz,
  body json not null
);
create index replays_by_time on lazaret.replays (created_at desc, id);

create table lazaret.replay_items (
  replay_id text collate "C" not null references lazaret.replays (id) on delete cascade,
  position integer not null,
  status text not null,
  body json not null,
  primary key (replay_id, position)
);
create index replay_items_by_status on lazaret.replay_items (replay_id, status, position);

create table lazaret.audit (
  seq bigint generated always as identity primary key,
  at timestamptz not null,
  by text not null,
  action text collate "C" not null,
  target text collate "C" not null,
  detail json
);
create index audit_by_target on lazaret.audit (target, seq);
create index audit_by_action on lazaret.audit (action, seq);
`
