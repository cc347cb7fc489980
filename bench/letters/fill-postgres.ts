import type { Pool } from 'pg'
import { LetterTable } from '../../src/adapters/postgres/letters/letter-table.ts'
import { resolvePostgres } from '../../src/adapters/postgres/options.ts'
import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'

const ROWS_AT_ONCE = 500

/** One insertion as the store would make it. */
interface Insertion {
  readonly text: string
  readonly values: readonly unknown[]
}

/**
 * Inserts letters many rows at a time. The store makes the statement of each letter, and this joins the values of many of them,
 * so that the rows are those that the store writes.
 */
export async function fillPostgres(pool: Pool, letters: Iterable<DeadLetter>): Promise<void> {
  const table = new LetterTable(resolvePostgres('bench', { pool }))
  let insertions: Insertion[] = []
  const recorder = {
    query: async (text: string, values: unknown[] = []) => {
      insertions.push({ text, values })
      return { rows: [], rowCount: 1 }
    },
  }
  for (const letter of letters) {
    await table.save(recorder, letter)
    if (insertions.length < ROWS_AT_ONCE) continue
    await insertAll(pool, insertions)
    insertions = []
  }
  await insertAll(pool, insertions)
  await pool.query('vacuum analyze lazaret.dead_letters')
}

/** The statement has first the columns of the letter, then the limit of the store, then the columns of the group. */
async function insertAll(pool: Pool, insertions: readonly Insertion[]): Promise<void> {
  const [first] = insertions
  if (first === undefined) return
  const [, columns] = /insert into lazaret\.dead_letters \(([^)]*)\) select/.exec(first.text)!
  const names = columns!.split(', ')
  const groups = new Map(
    insertions.map(({ values }) => [values[names.length + 1], values.slice(names.length + 1)]),
  )
  for (const group of groups.values())
    await pool.query(
      `insert into lazaret.groups (id, title, rule, basis, category, search) values ($1, $2, $3, $4, $5, $6)
       on conflict (id) do nothing`,
      group,
    )
  const [, parameters] = /insert into lazaret\.dead_letters \([^)]*\) select (.*)\n/.exec(first.text)!
  const aliases = names.map((_, index) => `c${index + 1}`)
  await pool.query(
    `insert into lazaret.dead_letters (${columns})
     select ${parameters!.replaceAll(/\$(\d+)/g, (_, at) => castOf(names[at - 1]!, `c${at}`))}
     from unnest(${aliases.map((_, index) => `$${index + 1}::text[]`).join(', ')}) as r(${aliases.join(', ')})`,
    names.map((_, index) => insertions.map(({ values }) => values[index] ?? null).map(asText)),
  )
}

function castOf(name: string, alias: string): string {
  return name === 'attempts' || name === 'replays' ? `${alias}::integer` : alias
}

function asText(value: unknown): string | null {
  return value === null ? null : String(value)
}
