import type { ChildProcess } from 'node:child_process'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'redis'
import { freePorts } from './free-ports.ts'
import { ServerNode } from './server-node.ts'
import { logIn, spawnIn } from './server-process.ts'

const POLL_MS = 20
/** A busy machine can stand still for seconds. */
const DOWN_AFTER_MS = 5_000

export type RedisConfig = Readonly<Record<string, string>>

/** What it is started with unless a test says otherwise: nothing that was answered is lost, and nothing is evicted. */
const CONFIG: RedisConfig = {
  appendonly: 'yes',
  appendfsync: 'always',
  save: '',
  'maxmemory-policy': 'noeviction',
}

/** One private Redis, or a Sentinel. */
export class RedisNode extends ServerNode {
  readonly #binary: string
  readonly #words: readonly string[]

  private constructor(binary: string, folder: string, port: number, words: readonly string[]) {
    super(folder, port, {
      name: 'Redis',
      pollMs: POLL_MS,
      log: logIn(folder),
      isTriedAgain: true,
      isGroup: false,
    })
    this.#binary = binary
    this.#words = words
  }

  static async create(binary: string, config: RedisConfig = {}): Promise<RedisNode> {
    const folder = await mkdtemp(join(tmpdir(), 'lazaret-redis-'))
    const [port] = await freePorts(1)
    const settings = {
      bind: '127.0.0.1',
      port: String(port),
      dir: folder,
      daemonize: 'no',
      ...CONFIG,
      ...config,
    }
    const words = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
    return new RedisNode(binary, folder, port!, words)
  }

  /** A Sentinel that watches a primary under the name `main`. Two of them must agree before they choose another one. */
  static async createSentinel(binary: string, primary: RedisNode): Promise<RedisNode> {
    const folder = await mkdtemp(join(tmpdir(), 'lazaret-sentinel-'))
    const [port] = await freePorts(1)
    const lines = [
      'bind 127.0.0.1',
      `port ${port}`,
      `dir ${folder}`,
      `sentinel monitor main 127.0.0.1 ${primary.port} 2`,
      `sentinel down-after-milliseconds main ${DOWN_AFTER_MS}`,
      'sentinel failover-timeout main 20000',
    ]
    // A Sentinel writes what it learns into this file.
    const file = join(folder, 'sentinel.conf')
    await writeFile(file, `${lines.join('\n')}\n`)
    return new RedisNode(binary, folder, port!, [file, '--sentinel'])
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** Any command, on a connection of its own: `CONFIG SET maxmemory 10mb`. */
  async command(...args: string[]): Promise<unknown> {
    const client = createClient({ url: this.url, RESP: 2, socket: { reconnectStrategy: false } })
    client.on('error', () => {})
    await client.connect()
    try {
      return await client.sendCommand(args)
    } finally {
      client.destroy()
    }
  }

  protected override spawn(): Promise<ChildProcess> {
    return spawnIn(this.folder, this.#binary, this.#words)
  }

  protected override async answers(): Promise<boolean> {
    try {
      return (await this.command('PING')) === 'PONG'
    } catch {
      return false
    }
  }
}
