import type { ChildProcess } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'redis'
import { freePorts } from './free-ports.ts'
import { ServerNode } from './server-node.ts'
import { logIn, spawnIn } from './server-process.ts'

const POLL_MS = 20

export type RedisConfig = Readonly<Record<string, string>>

/** What it is started with unless a test says otherwise: nothing that was answered is lost, and nothing is evicted. */
const CONFIG: RedisConfig = {
  appendonly: 'yes',
  appendfsync: 'always',
  save: '',
  'maxmemory-policy': 'noeviction',
}

/** One private Redis. */
export class RedisNode extends ServerNode {
  readonly #config: RedisConfig

  private constructor(folder: string, port: number, config: RedisConfig) {
    super(folder, port, {
      name: 'Redis',
      pollMs: POLL_MS,
      log: logIn(folder),
      isTriedAgain: true,
      isGroup: false,
    })
    this.#config = config
  }

  static async create(config: RedisConfig = {}): Promise<RedisNode> {
    const folder = await mkdtemp(join(tmpdir(), 'lazaret-redis-'))
    const [port] = await freePorts(1)
    return new RedisNode(folder, port!, { ...CONFIG, ...config })
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
    const { folder, port } = this
    const settings = { bind: '127.0.0.1', port: String(port), dir: folder, daemonize: 'no', ...this.#config }
    const words = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
    return spawnIn(folder, 'redis-server', words)
  }

  protected override async answers(): Promise<boolean> {
    try {
      return (await this.command('PING')) === 'PONG'
    } catch {
      return false
    }
  }
}
