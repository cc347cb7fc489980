import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { connect } from 'amqplib'
import { freePorts } from './free-ports.ts'
import { ServerProcess } from './server-process.ts'

const START_MS = 300_000
const POLL_MS = 100
const CONFIG_FILE = 'rabbitmq.config'
const CONFIG_END = '].\n'

/** One private RabbitMQ: loopback only, free ports, folders of its own. It can be killed, stopped and started again. */
export class RabbitmqNode {
  readonly folder: string
  readonly port: number
  readonly #binary: string
  readonly #env: NodeJS.ProcessEnv
  readonly #epmd: ChildProcess
  readonly #server: ServerProcess

  private constructor(folder: string, port: number, binary: string, env: NodeJS.ProcessEnv) {
    this.folder = folder
    this.port = port
    this.#binary = binary
    this.#env = env
    // As a child of ours it can be ended; started by Erlang itself it would stay behind as a daemon.
    this.#epmd = spawn('epmd', ['-address', '127.0.0.1', '-port', env['ERL_EPMD_PORT']!], { stdio: 'ignore' })
    this.#server = new ServerProcess({
      name: 'RabbitMQ',
      startMs: START_MS,
      pollMs: POLL_MS,
      spawn: async () => spawn(binary, [], { env, stdio: 'ignore', detached: true }),
      answers: () => this.#answers(),
      log: join(folder, 'log', `${env['RABBITMQ_NODENAME']}.log`),
      isTriedAgain: false,
      // The script and the Erlang machine it started.
      isGroup: true,
    })
  }

  static async create(binary: string): Promise<RabbitmqNode> {
    const folder = await mkdtemp(join(tmpdir(), 'lazaret-rabbitmq-'))
    const [port, distPort, epmdPort] = await freePorts(3)
    await mkdir(join(folder, 'home'))
    await writeFile(join(folder, 'enabled_plugins'), '[].\n')
    // In Erlang's own format: to read the other one, RabbitMQ first compiles the schemas of all settings at every start.
    const settings = [
      `{rabbit, [{tcp_listeners, [{"127.0.0.1", ${port}}]}, {disk_free_limit, "10MB"}]}`,
      '{ra, [{wal_max_size_bytes, 16777216}]}',
    ]
    await writeFile(join(folder, CONFIG_FILE), `[${settings.join(',\n')}${CONFIG_END}`)
    const env = {
      PATH: process.env['PATH'],
      HOME: join(folder, 'home'),
      LANG: 'C.UTF-8',
      RABBITMQ_NODENAME: `lazaret-${process.pid}-${port}@localhost`,
      RABBITMQ_DIST_PORT: String(distPort),
      ERL_EPMD_PORT: String(epmdPort),
      ERL_EPMD_ADDRESS: '127.0.0.1',
      RABBITMQ_CONF_ENV_FILE: '/dev/null',
      RABBITMQ_CONFIG_FILE: join(folder, CONFIG_FILE),
      RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'enabled_plugins'),
      RABBITMQ_MNESIA_BASE: join(folder, 'data'),
      RABBITMQ_LOG_BASE: join(folder, 'log'),
      RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS:
        '+sbwt none +sbwtdcpu none +sbwtdio none -kernel inet_dist_use_interface {127,0,0,1}',
    }
    return new RabbitmqNode(folder, port!, binary, env)
  }

  get url(): string {
    return `amqp://guest:guest@127.0.0.1:${this.port}`
  }

  /** Adds a setting in Erlang's format. It counts from the next start. */
  async configure(setting: string): Promise<void> {
    const path = join(this.folder, CONFIG_FILE)
    const config = await readFile(path, 'utf8')
    await writeFile(path, `${config.slice(0, -CONFIG_END.length)},\n${setting}${CONFIG_END}`)
  }

  async start(): Promise<void> {
    await this.#server.start()
  }

  /** As a power cut does it. */
  async kill(): Promise<void> {
    await this.#server.end('SIGKILL')
  }

  async stop(): Promise<void> {
    await this.#server.end('SIGTERM')
  }

  /** It stands still: connections stay, and nothing answers. */
  freeze(): void {
    this.#server.signal('SIGSTOP')
  }

  thaw(): void {
    this.#server.signal('SIGCONT')
  }

  /** What an operator types, such as `set_vm_memory_high_watermark 0.4`. */
  async ctl(...words: readonly string[]): Promise<string> {
    const ctl = join(dirname(this.#binary), 'rabbitmqctl')
    return (await promisify(execFile)(ctl, words, { env: this.#env })).stdout
  }

  async remove(): Promise<void> {
    await this.kill()
    this.#epmd.kill('SIGKILL')
    await rm(this.folder, { recursive: true, force: true })
  }

  async #answers(): Promise<boolean> {
    try {
      await (await connect(this.url, { timeout: 2_000 })).close()
      return true
    } catch {
      return false
    }
  }
}
