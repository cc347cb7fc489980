import type { ChildProcess } from 'node:child_process'
import { chown, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Found, findPackage } from './debian.ts'
import { freePorts } from './free-ports.ts'
import { answersAsPostgres, type Owner, unprivileged } from './postgres-node.ts'
import { runs } from './prometheus.ts'
import { ServerNode } from './server-node.ts'
import { logIn, spawnIn } from './server-process.ts'

const POLL_MS = 50
export const PGBOUNCER = '/usr/sbin/pgbouncer'

export function findPgBouncer(): Promise<Found> {
  return findPackage('pgbouncer', () => runs(PGBOUNCER))
}

/** PgBouncer in transaction mode before a server: each transaction may get another connection to it. */
export class PgBouncerNode extends ServerNode {
  readonly #owner: Owner

  private constructor(folder: string, port: number, owner: Owner) {
    super(folder, port, {
      name: 'PgBouncer',
      pollMs: POLL_MS,
      log: logIn(folder),
      isTriedAgain: false,
      isGroup: false,
    })
    this.#owner = owner
  }

  /** `server` is the port of Postgres. */
  static async create(server: number): Promise<PgBouncerNode> {
    const owner = await unprivileged()
    const folder = await mkdtemp(join(tmpdir(), 'lazaret-pgbouncer-'))
    if (owner !== undefined) await chown(folder, owner.uid, owner.gid)
    const [port] = await freePorts(1)
    await writeFile(join(folder, 'users'), '"postgres" ""\n')
    const settings = [
      '[databases]',
      `* = host=127.0.0.1 port=${server}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = trust',
      `auth_file = ${join(folder, 'users')}`,
      'pool_mode = transaction',
      'max_client_conn = 500',
      'default_pool_size = 20',
    ]
    await writeFile(join(folder, 'pgbouncer.ini'), `${settings.join('\n')}\n`)
    return new PgBouncerNode(folder, port!, owner)
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`
  }

  protected override spawn(): Promise<ChildProcess> {
    return spawnIn(this.folder, PGBOUNCER, [join(this.folder, 'pgbouncer.ini')], this.#owner)
  }

  protected override answers(): Promise<boolean> {
    return answersAsPostgres(this.url)
  }
}
