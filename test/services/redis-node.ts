import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'redis'
import { systemClock } from '../../src/ports/system-clock.ts'
import { freePorts } from './free-ports.ts'

const START_MS = 30_000
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
  readonly #config: RedisConfig
  #server: ChildProcess | undefined

  private constructor(folder: string, port: number, config: RedisConfig) {
    this.folder = folder
    this.port = port
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

  /** Resolves when it answers, with its data read. */
  async start(): Promise<void> {
    const giveUpAt = systemClock.now() + START_MS
    while (!(await this.#answers())) {
      if (systemClock.now() > giveUpAt) throw new Error(`Redis did not start:\n${await this.#log()}`)
      if (this.#server === undefined || hasEnded(this.#server)) this.#server = await this.#spawn()
      await new Promise<void>(resolve => systemClock.schedule(POLL_MS, resolve))
    }
  }

  /** As a crash does it. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  async stop(): Promise<void> {
    await this.#end('SIGTERM')
  }

  /** It keeps its connections and answers nothing. */
  freeze(): void {
    this.#server?.kill('SIGSTOP')
  }

  thaw(): void {
    this.#server?.kill('SIGCONT')
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

  async #spawn(): Promise<ChildProcess> {
    const log = await open(join(this.folder, 'log'), 'a')
    const where = { bind: '127.0.0.1', port: String(this.port), dir: this.folder, daemonize: 'no' }
    const words = Object.entries({ ...where, ...this.#config }).flatMap(([name, value]) => [
      `--${name}`,
      value,
    ])
    const server = spawn('redis-server', words, { cwd: this.folder, stdio: ['ignore', log.fd, log.fd] })
    await log.close()
    return server
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (server === undefined || hasEnded(server)) return
    const ended = once(server, 'exit')
    server.kill(signal)
    await ended
  }

  async #answers(): Promise<boolean> {
    if (this.#server === undefined || hasEnded(this.#server)) return false
    try {
      return (await this.command('PING')) === 'PONG'
    } catch {
      return false
    }
  }

  async #log(): Promise<string> {
    return (await readFile(join(this.folder, 'log'), 'utf8').catch(() => 'it wrote no log')).slice(-2_000)
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}
