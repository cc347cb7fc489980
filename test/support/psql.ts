import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { promisify } from 'node:util'
import { type Found, findPackage } from '../services/debian.ts'

const run = promisify(execFile)
/** No settings of the person's, bare rows, and the end at the first error. */
const WORDS = ['--no-psqlrc', '--quiet', '--no-align', '--tuples-only', '--set', 'ON_ERROR_STOP=1']

export function findPsql(): Promise<Found> {
  return findPackage('postgresql-client', () =>
    run('psql', ['--version']).then(
      () => true,
      () => false,
    ),
  )
}

/** The same database for somebody else. */
export function asRole(url: string, role: string): string {
  const address = new URL(url)
  address.username = role
  return address.href
}

/** What a person at a terminal gets to see: lines of fields with | between them. Rejects with psql's own words. */
export async function psql(url: string, statement: string): Promise<readonly string[]> {
  const { stdout } = await run('psql', [...WORDS, url, '--command', statement])
  return stdout.split('\n').slice(0, -1)
}

/** A person who types one statement after the other. */
export class PsqlSession {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #lines: AsyncIterator<string>

  constructor(url: string) {
    this.#child = spawn('psql', [...WORDS, url], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#lines = createInterface(this.#child.stdout)[Symbol.asyncIterator]()
  }

  /** The first line of the answer. */
  async ask(statement: string): Promise<string> {
    this.#child.stdin.write(`${statement};\n`)
    const { value, done } = await this.#lines.next()
    if (done === true) throw new Error('psql ended without an answer')
    return value
  }

  say(statement: string): void {
    this.#child.stdin.write(`${statement};\n`)
  }

  async end(): Promise<void> {
    const ended = new Promise<void>(resolve => this.#child.once('exit', () => resolve()))
    this.#child.stdin.end('\\q\n')
    await ended
  }
}
