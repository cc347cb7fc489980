import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { connect } from 'amqplib'
import { freePorts } from './free-ports.ts'
import { runProgram } from './run-program.ts'
import { ServerNode } from './server-node.ts'

const POLL_MS = 100
/** A full queue rejects a retry that falls due, and the server sends it again after this time. Its default is three minutes. */
const REJECTED_AGAIN_MS = 20_000
const CONFIG_FILE = 'rabbitmq.config'
const CONFIG_END = '].\n'
const LIBRARIES = 'libraries'
/** Plugins have this name. `rabbitmq_prelaunch` is a part of the server. */
const PLUGIN = /^rabbitmq_(?!prelaunch)/

interface Place {
  readonly name: string
  readonly port: number
  readonly distPort: number
  /** One for all nodes of a cluster: there they find each other. */
  readonly epmdPort: number
}

/** One private RabbitMQ, alone or in a cluster. */
export class RabbitmqNode extends ServerNode {
  readonly #binary: string
  readonly #env: NodeJS.ProcessEnv
  readonly #epmd: ChildProcess

  private constructor(folder: string, port: number, binary: string, env: NodeJS.ProcessEnv) {
    super(folder, port, {
      name: 'RabbitMQ',
      pollMs: POLL_MS,
      log: join(folder, 'log', `${env['RABBITMQ_NODENAME']}.log`),
      isTriedAgain: false,
      // The script and the Erlang machine it started.
      isGroup: true,
    })
    this.#binary = binary
    this.#env = env
    // As a child of ours it can be ended; started by Erlang itself it would stay behind as a daemon.
    this.#epmd = spawn(
      programBeside(binary, 'epmd'),
      ['-address', '127.0.0.1', '-port', env['ERL_EPMD_PORT']!],
      {
        stdio: 'ignore',
      },
    )
  }

  /** The nodes of a cluster; one node is a server of its own. The first start needs all of them at once. */
  static async createCluster(binary: string, count: number): Promise<RabbitmqNode[]> {
    const [epmdPort, ...ports] = await freePorts(1 + 2 * count)
    const places = Array.from({ length: count }, (_, index) => {
      const port = ports[2 * index]!
      return {
        name: `lazaret-${process.pid}-${port}@localhost`,
        port,
        distPort: ports[2 * index + 1]!,
        epmdPort: epmdPort!,
      }
    })
    const names = places.map(({ name }) => name)
    return Promise.all(places.map(place => RabbitmqNode.#create(binary, place, names)))
  }

  static async #create(
    binary: string,
    { name, port, distPort, epmdPort }: Place,
    cluster: readonly string[],
  ): Promise<RabbitmqNode> {
    const folder = await mkdtemp(join(tmpdir(), 'lazaret-rabbitmq-'))
    await mkdir(join(folder, 'home'))
    // All nodes have the same. Two programs of a node also look for it at one moment, and one would find the empty file of the other.
    await writeFile(join(folder, 'home', '.erlang.cookie'), 'LAZARET', { mode: 0o400 })
    await writeFile(join(folder, 'enabled_plugins'), '[].\n')
    await mkdir(join(folder, LIBRARIES))
    await linkLibraries(binary, join(folder, LIBRARIES), name => !PLUGIN.test(name))
    // In Erlang's own format: to read the other one, RabbitMQ first compiles the schemas of all settings at every start.
    const settings = [
      `{rabbit, [${[
        `{tcp_listeners, [{"127.0.0.1", ${port}}]}`,
        '{disk_free_limit, "10MB"}',
        `{dead_letter_worker_publisher_confirm_timeout, ${REJECTED_AGAIN_MS}}`,
        ...toCluster(cluster),
      ].join(', ')}]}`,
      '{ra, [{wal_max_size_bytes, 16777216}]}',
    ]
    await writeFile(join(folder, CONFIG_FILE), `[${settings.join(',\n')}${CONFIG_END}`)
    const env = {
      PATH: process.env['PATH'],
      HOME: join(folder, 'home'),
      LANG: 'C.UTF-8',
      RABBITMQ_NODENAME: name,
      RABBITMQ_DIST_PORT: String(distPort),
      ERL_EPMD_PORT: String(epmdPort),
      ERL_EPMD_ADDRESS: '127.0.0.1',
      ERL_CRASH_DUMP: join(folder, 'erl_crash.dump'),
      RABBITMQ_CONF_ENV_FILE: '/dev/null',
      RABBITMQ_CONFIG_FILE: join(folder, CONFIG_FILE),
      RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'enabled_plugins'),
      RABBITMQ_PLUGINS_DIR: join(folder, LIBRARIES),
      RABBITMQ_MNESIA_BASE: join(folder, 'data'),
      RABBITMQ_LOG_BASE: join(folder, 'log'),
      RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS:
        '+sbwt none +sbwtdcpu none +sbwtdio none -kernel inet_dist_use_interface {127,0,0,1}',
    }
    return new RabbitmqNode(folder, port, binary, env)
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

  /** Turns a plugin on. It counts from the next start. */
  async enablePlugin(name: string): Promise<void> {
    await linkLibraries(this.#binary, join(this.folder, LIBRARIES), library => PLUGIN.test(library))
    await writeFile(join(this.folder, 'enabled_plugins'), `[${name}].\n`)
  }

  /**
   * Calls a function of the server as rabbitmqctl does, with an expression of Erlang. The command itself starts an Erlang
   * machine of its own at every call.
   */
  async call(expression: string): Promise<void> {
    const cookie = await readFile(join(this.#env['HOME']!, '.erlang.cookie'), 'utf8')
    const words = ['-sname', this.#env['RABBITMQ_NODENAME']!, '-c', cookie.trim(), '-e']
    const answer = await runProgram(
      programBeside(this.#binary, 'erl_call'),
      words,
      `${expression}.\n`,
      this.#env,
    )
    if (answer.trim() !== '{ok, ok}') throw new Error(`RabbitMQ answered ${answer} to ${expression}`)
  }

  override async remove(): Promise<void> {
    this.#epmd.kill('SIGKILL')
    await super.remove()
  }

  protected override async spawn(): Promise<ChildProcess> {
    return spawn(this.#binary, [], { env: this.#env, stdio: 'ignore', detached: true })
  }

  protected override async answers(): Promise<boolean> {
    try {
      await (await connect(this.url, { timeout: 2_000 })).close()
      return true
    } catch {
      return false
    }
  }
}

function toCluster(names: readonly string[]): readonly string[] {
  return names.length === 1 ? [] : [`{cluster_nodes, {[${names.map(name => `'${name}'`).join(', ')}], disc}}`]
}

/** A program of Erlang: the one that a folder with another version of the server brings, else the machine's. */
function programBeside(binary: string, name: string): string {
  const beside = join(dirname(binary), name)
  return existsSync(beside) ? beside : name
}

/** The server reads what is in the folder of its libraries at every start, so plugins that a test does not use are not in it. */
async function linkLibraries(
  binary: string,
  folder: string,
  isWanted: (name: string) => boolean,
): Promise<void> {
  const versions = join(dirname(binary), '../lib')
  const [version] = (await readdir(versions)).filter(name => name.startsWith('rabbitmq_server-'))
  const installed = join(versions, version!, 'plugins')
  for (const name of (await readdir(installed)).filter(isWanted))
    await symlink(join(installed, name), join(folder, name))
}
