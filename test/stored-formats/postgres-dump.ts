import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)
const WORDS = ['--schema=lazaret', '--inserts', '--rows-per-insert=100', '--no-owner', '--no-privileges']
/** Lines for psql, and settings of one version of the server: an older server would refuse them. */
const OF_ITS_VERSION = /^(\\(un)?restrict .*|SET transaction_timeout .*|-- Dumped .*)\n/gm

/** The schema of Lazaret and its rows as SQL that a client can send in one go. */
export async function dumpDatabase(url: string): Promise<string> {
  const { stdout } = await run('pg_dump', [...WORDS, url], { maxBuffer: 1 << 28 })
  return stdout.replace(OF_ITS_VERSION, '')
}
