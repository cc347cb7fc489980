import type { ChildProcess } from 'node:child_process'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePorts } from './free-ports.ts'
import { ServerNode } from './server-node.ts'
import { logIn, spawnIn } from './server-process.ts'

const POLL_MS = 100
/** It writes little and lives for seconds, so a fast start counts more than fast code. */
const JAVA = ['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xshare:auto']

/** One OpenSearch node. */
export class OpenSearchNode extends ServerNode {
  readonly #classPath: string
  readonly #transportPort: number

  private constructor(classPath: string, folder: string, port: number, transportPort: number) {
    super(folder, port, {
      name: `OpenSearch on port ${port}`,
      pollMs: POLL_MS,
      log: logIn(folder),
      isTriedAgain: true,
      isGroup: false,
    })
    this.#classPath = classPath
    this.#transportPort = transportPort
  }

  /** Resolves when it answers. */
  static async open(classPath: string): Promise<OpenSearchNode> {
    const folder = await mkdtemp(join(tmpdir(), 'lazaret-opensearch-'))
    const [port, transportPort] = await freePorts(2)
    await mkdir(join(folder, 'config'))
    const node = new OpenSearchNode(classPath, folder, port!, transportPort!)
    try {
      await node.start()
    } catch (error) {
      await node.remove()
      throw error
    }
    return node
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** A request with a body of JSON, and its answer. An answer that refuses it is an error. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at any part of it
  async ask(method: string, path: string, body?: unknown): Promise<any> {
    const headers = { 'content-type': 'application/json' }
    const given = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await fetch(new URL(path, this.url), { method, headers, ...given })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return JSON.parse(text)
  }

  /** The documents of an index or data stream in the order they were stored. Empty if it does not exist. */
  async documents(
    index: string,
  ): Promise<{ readonly id: string; readonly source: Record<string, unknown> }[]> {
    const lenient = 'ignore_unavailable=true&allow_no_indices=true'
    await this.ask('POST', `/${index}/_refresh?${lenient}`)
    const { hits } = await this.ask('POST', `/${index}/_search?${lenient}`, {
      size: 10_000,
      sort: [{ _seq_no: 'asc' }],
    })
    return hits.hits.map((hit: { _id: string; _source: Record<string, unknown> }) => ({
      id: hit._id,
      source: hit._source,
    }))
  }

  protected override async spawn(): Promise<ChildProcess> {
    const words = [this.folder, String(this.port), String(this.#transportPort)]
    return spawnIn(this.folder, 'java', [...JAVA, '-cp', this.#classPath, 'TestNode', ...words])
  }

  protected override async answers(): Promise<boolean> {
    return this.ask('GET', '/_cluster/health').then(
      ({ status }) => status !== 'red',
      () => false,
    )
  }
}
