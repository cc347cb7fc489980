import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'redis'
import { freePorts } from './free-ports.ts'
import { logIn, ServerProcess, spawnIn } from './server-process.ts'

const START_MS = 300_000
const POLL_MS = 20

export type RedisConfig = Readonly<Record<string, string>>

/** What it is started with unless a test says otherwise: nothing that was answered is lost, and nothing is evicted. */
const CONFIG: RedisConfig = {
  appendonly: 'yes',
  appendfsync: 'always',
  save: '',
  'maxmemory-policy': 'noeviction',
}

/** One private Redis: loopback only, a free port, a folder of its own. It can be killed, stopped, frozen and started again. */
export class RedisNode {
  readonly folder: string
  readonly port: number
  readonly #server: ServerProcess

  private constructor(folder: string, port: number, config: RedisConfig) {
    this.folder = folder
    this.port = port
    const where = { bind: '127.0.0.1', port: String(port), dir: folder, daemonize: 'no' }
    const settings = Object.entries({ ...where, ...config })
    this.#server = new ServerProcess({
      name: 'Redis',
      startMs: START_MS,
      pollMs: POLL_MS,
      spawn: () =>
        spawnIn(
          folder,
          'redis-server',
          settings.flatMap(([name, value]) => [`--${name}`, value]),
        ),
      answers: () => this.#answers(),
      log: logIn(folder),
      isTriedAgain: true,
      isGroup: false,
    })
  }

  static async create(config: RedisConfig = {}): Promise<RedisNode> {
    const folder = await mkdtemp(join(tmpdir(), 'lazaret-redis-'))
    const [port] = await freePorts(1)
    return new RedisNode(folder, port!, { ...CONFIG, ...config })
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** Resolves when it answers, with its data read. */
  async start(): Promise<void> {
    await this.#server.start()
  }

  /** As a crash does it. */
  async kill(): Promise<void> {
    await this.#server.end('SIGKILL')
  }

  async stop(): Promise<void> {
    await this.#server.end('SIGTERM')
  }

  /** It keeps its connections and answers nothing. */
  freeze(): void {
    this.#server.signal('SIGSTOP')
  }

  thaw(): void {
    this.#server.signal('SIGCONT')
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

  async remove(): Promise<void> {
    await this.kill()
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: POLL_MS })
  }

  async #answers(): Promise<boolean> {
    try {
      return (await this.command('PING')) === 'PONG'
    } catch {
      return false
    }
  }
}
