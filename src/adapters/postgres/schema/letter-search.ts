import type { PgQueryable } from '../connection/client.ts'
import { runQuery } from '../connection/query.ts'

/**
 * The index of text searches. Its operator class comes with the extension `pg_trgm`, which a person adds to the database: without it,
 * and without the index, a search reads letters. No letter can be stored while the index is built here, so a large table is left to
 * a person too, who builds the index concurrently. So is an extension that the role of the migration may not use.
 */
export const LETTER_SEARCH = `
do $letter_search$
declare
  home name := (
    select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm'
  );
begin
  if home is null or not has_schema_privilege(home, 'usage') then return; end if;
  if exists (select from lazaret.dead_letters offset 100000) then return; end if;
  execute format(
    'create index if not exists dead_letters_search on lazaret.dead_letters using gin (search %I.gin_trgm_ops)', home);
end
$letter_search$;
`

/** Whether a text search can use an index, also one with another name. It must have the searched column of all letters. */
export async function hasSearchIndex(on: PgQueryable): Promise<boolean> {
  const { rows } = await runQuery(
    on,
    'looking for the index of text searches',
    `select exists (
       select from pg_index i, unnest(i.indkey::int2[], i.indclass::oid[]) as part(column_number, class)
       join pg_opclass c on c.oid = part.class
       join pg_attribute a on a.attnum = part.column_number and a.attrelid = 'lazaret.dead_letters'::regclass
       where i.indrelid = a.attrelid and i.indisvalid and i.indpred is null
         and a.attname = 'search' and c.opcname in ('gin_trgm_ops', 'gist_trgm_ops')
     ) as "isThere"`,
  )
  return rows[0].isThere
}
