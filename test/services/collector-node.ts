import type { ChildProcess } from 'node:child_process'
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { freePorts } from './free-ports.ts'
import { ServerNode } from './server-node.ts'
import { logIn, spawnIn } from './server-process.ts'

const POLL_MS = 20
const ROOMY_MIB = 1_024
const OUTPUT = /^received-\d+\.jsonl$/

export interface CollectorSettings {
  /** It refuses everything when it uses more memory than this; 1 is always less than it uses [1 GiB]. */
  readonly memoryMiB?: number
  /** The largest body of a request, decompressed [20 MiB, the collector's own]. */
  readonly maxBodyBytes?: number
  /** It takes requests as usual, and says of logs with the attribute `refuse` that it took only the others [false]. */
  readonly partialSuccess?: boolean
}

/** One OpenTelemetry Collector. It answers when what it received is written to a file, so a killed one has lost nothing. */
export class CollectorNode extends ServerNode {
  readonly #binary: string
  #settings: CollectorSettings
  #starts = 0

  private constructor(binary: string, folder: string, port: number, settings: CollectorSettings) {
    super(folder, port, {
      name: `OpenTelemetry Collector on port ${port}`,
      pollMs: POLL_MS,
      log: logIn(folder),
      isTriedAgain: false,
      isGroup: false,
    })
    this.#binary = binary
    this.#settings = settings
  }

  static async create(binary: string, settings: CollectorSettings = {}): Promise<CollectorNode> {
    const [port] = await freePorts(1)
    const folder = await mkdtemp(join(tmpdir(), 'lazaret-collector-'))
    return new CollectorNode(binary, folder, port!, settings)
  }

  get logsUrl(): string {
    return `http://127.0.0.1:${this.port}/v1/logs`
  }

  get tracesUrl(): string {
    return `http://127.0.0.1:${this.port}/v1/traces`
  }

  /** The settings of the next start. */
  configure(settings: CollectorSettings): void {
    this.#settings = settings
  }

  /** The requests that it has taken, as its file exporter wrote them: in the JSON of OTLP, in order. */
  async received(): Promise<unknown[]> {
    const files = (await readdir(this.folder)).filter(name => OUTPUT.test(name)).sort()
    const requests = await Promise.all(files.map(name => readRequests(join(this.folder, name))))
    return requests.flat()
  }

  protected override async spawn(): Promise<ChildProcess> {
    if (this.#settings.partialSuccess === true)
      return spawnIn(this.folder, this.#binary, ['partial-success', `127.0.0.1:${this.port}`])
    // A killed collector can leave half a line, so each start has a file of its own.
    const output = join(this.folder, `received-${String(++this.#starts).padStart(3, '0')}.jsonl`)
    const file = join(this.folder, 'collector.yaml')
    await writeFile(file, stringify(configOf(this.#settings, this.port, output)))
    return spawnIn(this.folder, this.#binary, [`--config=${file}`])
  }

  /** Also when it refuses: the protocol has it answer an empty request with success. */
  protected override async answers(): Promise<boolean> {
    const headers = { 'content-type': 'application/json' }
    return fetch(this.logsUrl, { method: 'POST', headers, body: '{}' }).then(
      ({ ok }) => ok,
      () => false,
    )
  }
}

function configOf({ memoryMiB = ROOMY_MIB, maxBodyBytes }: CollectorSettings, port: number, path: string) {
  const http = {
    endpoint: `127.0.0.1:${port}`,
    ...(maxBodyBytes !== undefined && { max_request_body_size: maxBodyBytes }),
  }
  const pipeline = { receivers: ['otlp'], processors: ['memory_limiter'], exporters: ['file'] }
  return {
    receivers: { otlp: { protocols: { http } } },
    processors: { memory_limiter: { check_interval: '10ms', limit_mib: memoryMiB } },
    // With rotation, the exporter writes each request at once instead of within a second.
    exporters: { file: { path, rotation: { max_megabytes: 1_024 } } },
    service: {
      telemetry: { metrics: { level: 'none' }, logs: { level: 'warn' } },
      pipelines: { logs: pipeline, traces: pipeline },
    },
  }
}

/** The last line of a killed collector may be incomplete; it was not acknowledged. */
async function readRequests(file: string): Promise<unknown[]> {
  const lines = (await readFile(file, 'utf8')).split('\n')
  const last = lines.pop()!
  const requests: unknown[] = lines.map(line => JSON.parse(line))
  try {
    requests.push(JSON.parse(last))
  } catch {
    // Incomplete, or empty: every complete line ends with a newline.
  }
  return requests
}
