import { CLAIM_AND_BEGIN } from './claim-and-begin.ts'
import {
  COMMENTS,
  FLEET_COMMENTS,
  LETTER_COUNT_COMMENTS,
  LETTER_FACET_COMMENTS,
  SNAPSHOT_COMMENTS,
} from './comments.ts'
import { DECIDED_ROWS, ROWS_FROM_THE_FUTURE } from './decided-rows.ts'
import { DELIVERED } from './delivered.ts'
import { FUNCTIONS } from './functions.ts'
import { LETTER_COUNTS } from './letter-counts.ts'
import { LETTER_DELETIONS } from './letter-deletions.ts'
import { LETTER_FACETS } from './letter-facets.ts'
import { LETTER_FUNCTIONS } from './letter-functions.ts'
import { LETTER_SEARCH } from './letter-search.ts'
import { REPLAY, REPLAY_ONE_ROW, REPLAY_WITH_ID } from './replay-function.ts'
import { FLEET, LETTERS, OPERATING, OUTBOX, SNAPSHOTS } from './tables.ts'
import { UNBLOCK } from './unblock.ts'

/** One step of the database schema. */
export interface Migration {
  readonly version: number
  readonly name: string
  /** The lowest version whose programs can work with the schema after it: they may still run, or be started again. */
  readonly worksWith: number
  readonly sql: string
}

/** Forward only: a released step is never edited, and a change is one more step at the end. */
export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'the outbox, dead letters and what operating them needs',
    worksWith: 1,
    sql: `${OUTBOX}${DELIVERED}${LETTERS}${OPERATING}${REPLAY}${FUNCTIONS}${COMMENTS}\n`,
  },
  {
    version: 2,
    name: 'snapshots of channels',
    worksWith: 1,
    sql: `${SNAPSHOTS}${SNAPSHOT_COMMENTS}\n`,
  },
  {
    version: 3,
    name: 'an id for replays by SQL',
    worksWith: 1,
    sql: `${REPLAY_WITH_ID}\n`,
  },
  {
    version: 4,
    name: 'one row for a replay by SQL',
    worksWith: 1,
    sql: `${REPLAY_ONE_ROW}\n`,
  },
  {
    version: 5,
    name: 'views and functions for letters and triage',
    worksWith: 1,
    sql: `${LETTER_FUNCTIONS}\n`,
  },
  {
    version: 6,
    name: 'the fleet and commands to it',
    worksWith: 1,
    sql: `${FLEET}${FLEET_COMMENTS}\n`,
  },
  {
    version: 7,
    name: 'letters in every order',
    worksWith: 1,
    sql: `${LETTER_FACETS}${LETTER_FACET_COMMENTS}\n`,
  },
  {
    version: 8,
    name: 'counts of letters, and deletions of many',
    worksWith: 1,
    sql: `${LETTER_COUNTS}${LETTER_COUNT_COMMENTS}${LETTER_DELETIONS}\n`,
  },
  {
    version: 9,
    name: 'claims that begin an attempt',
    worksWith: 1,
    sql: `${CLAIM_AND_BEGIN}\n`,
  },
  {
    version: 10,
    name: 'an index for text searches',
    worksWith: 1,
    sql: `${LETTER_SEARCH}\n`,
  },
  {
    version: 11,
    name: 'removal of dead rows that are decided',
    worksWith: 1,
    sql: `${DECIDED_ROWS}\n`,
  },
  {
    version: 12,
    name: 'keys that are unblocked before their event is dead',
    worksWith: 1,
    sql: `${UNBLOCK}\n`,
  },
  {
    version: 13,
    name: 'removal of rows behind those from the future',
    worksWith: 1,
    sql: `${ROWS_FROM_THE_FUTURE}\n`,
  },
]

/** The version of the database schema that this release writes. */
export const SCHEMA_VERSION: number = MIGRATIONS.at(-1)!.version

/** 'LZRT': a migration holds this lock, so that one of several processes that start at once runs it. */
const LOCK = 0x4c5a5254

/** The beginning of every migration: the schema itself and the list of steps. */
export const PREPARE: string = `select pg_advisory_xact_lock(${LOCK});
create schema if not exists lazaret;
create table if not exists lazaret.migrations (
  version integer primary key,
  name text not null,
  works_with integer,
  applied_at timestamptz not null default now()
);
`

/** The SQL for a person to read and run with `psql -f`. A step that was taken before is not taken again. */
export function printMigrations(after = 0): string {
  const steps = MIGRATIONS.filter(({ version }) => version > after)
  const texts = steps.map(step => `-- ${step.version}: ${step.name}\n${unlessTaken(step)}`)
  return `begin;\n${PREPARE}\n${texts.join('\n')}commit;\n`
}

function unlessTaken(step: Migration): string {
  return `do $migration$ begin
if exists (select from lazaret.migrations where version >= ${step.version}) then return; end if;
execute $step$
${step.sql}${record(step)}$step$;
end $migration$;
`
}

export function record({ version, name, worksWith }: Migration): string {
  return `insert into lazaret.migrations (version, name, works_with) values (${version}, '${name}', ${worksWith});\n`
}
