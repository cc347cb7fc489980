import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { appendFile, chown, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { ROOT } from '../support/source.ts'
import { freePorts } from './free-ports.ts'
import { logIn, ServerProcess, spawnIn } from './server-process.ts'

const run = promisify(execFile)
const START_MS = 300_000
const POLL_MS = 50
/**
 * Set for tests, which end processes and never the machine: what a killed server has written is there without a sync as
 * well. Benchmarks and long campaigns run with it unset.
 */
const UNSYNCED = 'LAZARET_TEST_POSTGRES_UNSYNCED'

/** Whom its processes belong to: Postgres refuses to run as root. Nothing to change for anybody else. */
export type Owner = { readonly uid: number; readonly gid: number } | undefined

/** One private Postgres: loopback only, a free port, a folder of its own. It can be killed, stopped and started again. */
export class PostgresNode {
  readonly folder: string
  readonly port: number
  readonly #binaries: string
  readonly #owner: Owner
  readonly #server: ServerProcess

  private constructor(folder: string, port: number, binaries: string, owner: Owner) {
    this.folder = folder
    this.port = port
    this.#binaries = binaries
    this.#owner = owner
    const place = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=']
    const isUnsynced = process.env[UNSYNCED] === '1'
    const settings = [
      ...place,
      'dynamic_shared_memory_type=mmap',
      ...(isUnsynced ? ['fsync=off', 'full_page_writes=off'] : []),
    ]
    const words = ['-D', join(folder, 'data'), ...settings.flatMap(setting => ['-c', setting])]
    this.#server = new ServerProcess({
      name: 'Postgres',
      startMs: START_MS,
      pollMs: POLL_MS,
      spawn: () => spawnIn(folder, join(binaries, 'postgres'), words, owner),
      answers: () => answersAsPostgres(this.url),
      log: logIn(folder),
      // After a kill the processes of its connections may be there for a moment, and it refuses to start beside them.
      isTriedAgain: true,
      isGroup: false,
    })
  }

  /** `binaries` is the folder of `initdb` and `postgres`. */
  static async create(binaries: string): Promise<PostgresNode> {
    const owner = await unprivileged()
    const folder = await makeFolder(owner)
    await fillData(folder, binaries, owner)
    const [port] = await freePorts(1)
    return new PostgresNode(folder, port!, binaries, owner)
  }

  /** A standby that begins with a copy of the data of this one, which must not run, and follows it while both run. */
  async createStandby(): Promise<PostgresNode> {
    const folder = await makeFolder(this.#owner)
    const data = join(folder, 'data')
    await run('cp', ['-a', join(this.folder, 'data'), data])
    await writeFile(join(data, 'standby.signal'), '')
    const primary = `host=127.0.0.1 port=${this.port} user=postgres`
    await appendFile(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${primary}'\n`)
    const [port] = await freePorts(1)
    return new PostgresNode(folder, port!, this.#binaries, this.#owner)
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`
  }

  async start(): Promise<void> {
    await this.#server.start()
  }

  /** All at once, in the middle of whatever it does. */
  async kill(): Promise<void> {
    await this.#server.end('SIGKILL')
  }

  /** In immediate mode: no checkpoint, as after a crash of the server. The next start recovers from its log. */
  async crash(): Promise<void> {
    await this.#server.end('SIGQUIT')
  }

  /** At once: connections are ended and their transactions rolled back. */
  async stop(): Promise<void> {
    await this.#server.end('SIGINT')
  }

  /** Any statement, on a connection of its own. */
  async command(statement: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const client = new Client({ connectionString: this.url })
    await client.connect()
    try {
      return (await client.query(statement)).rows
    } finally {
      await client.end()
    }
  }

  async remove(): Promise<void> {
    await this.kill()
    // The processes of its connections may still write while they end.
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: POLL_MS })
  }
}

/** Whether it lets a client in. */
export async function answersAsPostgres(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}

async function makeFolder(owner: Owner): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'lazaret-postgres-'))
  if (owner !== undefined) await chown(folder, owner.uid, owner.gid)
  return folder
}

/** A new folder of data costs a second of processor time, and all of one version are alike: the first one is kept and copied. */
const KEPT = join(ROOT, 'node_modules/.cache/lazaret-postgres')

async function fillData(folder: string, binaries: string, owner: Owner): Promise<void> {
  const data = join(folder, 'data')
  const { stdout } = await run(join(binaries, 'postgres'), ['--version'])
  const kept = join(KEPT, stdout.trim().replaceAll(/[^\w.]+/g, '-'))
  if (existsSync(kept)) {
    await run('cp', ['-a', kept, data])
    return
  }
  const words = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C']
  // What is lost when the machine itself dies now is a folder that nobody has used yet.
  await run(join(binaries, 'initdb'), [...words, '--no-sync'], { ...owner, cwd: folder })
  await keepData(data, kept)
}

/** Under its name only when it is whole. Of two at once, the second finds the name taken. */
async function keepData(data: string, kept: string): Promise<void> {
  await mkdir(dirname(kept), { recursive: true })
  const copy = await mkdtemp(`${kept}-`)
  await run('cp', ['-a', data, join(copy, 'data')])
  await rename(join(copy, 'data'), kept).catch(error => {
    if (!existsSync(kept)) throw error
  })
  await rm(copy, { recursive: true })
}

export async function unprivileged(): Promise<Owner> {
  if (process.getuid?.() !== 0) return undefined
  const id = async (flag: string) =>
    Number((await run('id', [flag, 'postgres']).catch(() => run('id', [flag, 'nobody']))).stdout)
  return { uid: await id('-u'), gid: await id('-g') }
}
