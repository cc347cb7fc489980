import type { ChildProcess } from 'node:child_process'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePorts } from './free-ports.ts'
import { ServerNode } from './server-node.ts'
import { logIn, spawnIn } from './server-process.ts'

export const POLL_MS = 20
const ANSWER_MS = 2_000
/** The folder of the messages of a stream. */
const MESSAGES = 'msgs'
/** A stream that exists for a moment. */
const PROBE = 'LAZARET_PROBE'

/** Lines of the configuration file. */
export type NatsConfig = string

interface Place {
  readonly name: string
  readonly port: number
  /** The routes of the cluster; undefined if the server is alone. */
  readonly routes: { readonly port: number; readonly all: readonly number[] } | undefined
}

/** One NATS server with JetStream. The first start of a cluster needs most of its nodes at once. */
export class NatsNode extends ServerNode {
  readonly #binary: string
  #config: string

  private constructor(binary: string, folder: string, port: number, config: string) {
    super(folder, port, {
      name: `NATS on port ${port}`,
      pollMs: POLL_MS,
      log: logIn(folder),
      isTriedAgain: true,
      isGroup: false,
    })
    this.#binary = binary
    this.#config = config
  }

  /** The nodes of a cluster; one node is a server of its own. */
  static async createCluster(
    binary: string,
    count: number,
    config: NatsConfig = '',
    jetstream: NatsConfig = '',
  ): Promise<NatsNode[]> {
    const ports = await freePorts(2 * count)
    const all = ports.slice(count)
    return Promise.all(
      ports.slice(0, count).map(async (port, index) => {
        const folder = await mkdtemp(join(tmpdir(), 'lazaret-nats-'))
        const routes = count === 1 ? undefined : { port: all[index]!, all }
        const place = { name: `n${index + 1}`, port, routes }
        return new NatsNode(binary, folder, port, `${configOf(place, folder, jetstream)}${config}\n`)
      }),
    )
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`
  }

  /** Adds lines to the configuration. They count from the next start. */
  configure(lines: NatsConfig): void {
    this.#config += `${lines}\n`
  }

  protected override async spawn(): Promise<ChildProcess> {
    const file = join(this.folder, 'nats.conf')
    await writeFile(file, this.#config)
    return spawnIn(this.folder, this.#binary, ['-c', file])
  }

  /** Deletes all its streams. It must not run. */
  async wipe(): Promise<void> {
    await rm(join(this.folder, 'data'), { recursive: true, force: true })
  }

  /** Deletes the messages of a stream, whose consumers stay as they are. It must not run. */
  async forgetMessages(stream: string): Promise<void> {
    await rm(join(this.#folderOf(stream), MESSAGES), { recursive: true })
  }

  /** Deletes a stream with its consumers. It must not run. */
  async forgetStream(stream: string): Promise<void> {
    await rm(this.#folderOf(stream), { recursive: true })
  }

  /** Copies the messages of a stream. Resolves with the function that puts them back. It must not run, both times. */
  async copyMessages(stream: string): Promise<() => Promise<void>> {
    const folder = join(this.#folderOf(stream), MESSAGES)
    const copy = join(this.folder, `copy-of-${stream}`)
    await cp(folder, copy, { recursive: true })
    return async () => {
      await this.forgetMessages(stream)
      await cp(copy, folder, { recursive: true })
    }
  }

  #folderOf(stream: string): string {
    return join(this.folder, 'data', 'jetstream', '$G', 'streams', stream)
  }

  /** Its JetStream answers. */
  protected override async answers(): Promise<boolean> {
    return hasJetStream(this.url).catch(() => false)
  }
}

/** The part of a connection that tests of the server use. */
export interface NatsTestConnection {
  request(subject: string, text: string, options: { readonly timeout: number }): Promise<{ json<T>(): T }>
  close(): Promise<void>
}

interface NatsTestClient {
  connect(options: object): Promise<NatsTestConnection>
}

/** It is named by a variable, so that a folder whose dependencies are older can be compiled. */
export async function loadNatsClient(): Promise<NatsTestClient> {
  const name = '@nats-io/transport-node'
  return await import(name)
}

/** Whether the server at this address answers requests of JetStream. */
export async function hasJetStream(url: string): Promise<boolean> {
  return (await askJetStream(url, 'INFO')).error === undefined
}

/** Whether the cluster can have a stream on so many servers. The leader of a new cluster does not know all of them yet. */
export async function canPlaceStreams(url: string, replicas: number): Promise<boolean> {
  const probe = { name: PROBE, subjects: [PROBE], num_replicas: replicas }
  const { error } = await askJetStream(url, `STREAM.CREATE.${PROBE}`, JSON.stringify(probe))
  if (error !== undefined) return false
  return (await askJetStream(url, `STREAM.DELETE.${PROBE}`)).error === undefined
}

async function askJetStream(url: string, request: string, body = ''): Promise<{ readonly error?: unknown }> {
  const { connect } = await loadNatsClient()
  const connection = await connect({
    servers: url.split(','),
    reconnect: false,
    timeout: ANSWER_MS,
    ignoreClusterUpdates: true,
  })
  try {
    return (await connection.request(`$JS.API.${request}`, body, { timeout: ANSWER_MS })).json()
  } finally {
    await connection.close()
  }
}

function configOf({ name, port, routes }: Place, folder: string, jetstream: NatsConfig): string {
  const lines = [
    `server_name: ${name}`,
    `listen: 127.0.0.1:${port}`,
    `jetstream { store_dir: "${join(folder, 'data')}", max_file_store: 4GB, max_memory_store: 256MB\n${jetstream} }`,
  ]
  if (routes !== undefined) {
    const others = routes.all.filter(each => each !== routes.port).map(each => `nats://127.0.0.1:${each}`)
    lines.push(
      `cluster { name: lazaret, listen: 127.0.0.1:${routes.port}, routes: [${others.map(url => `"${url}"`).join(', ')}] }`,
    )
  }
  return `${lines.join('\n')}\n`
}
