import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { delay, systemClock } from '../../src/ports/clock.ts'
import { freePorts } from './free-ports.ts'

const START_MS = 300_000
const POLL_MS = 50

/** What is started: given the folder of its own and its port, the words of the command line. */
export interface WatcherCommand {
  readonly name: string
  readonly binary: string
  prepare(folder: string, port: number): Promise<readonly string[]>
}

/** A private Prometheus or Alertmanager: loopback only, a free port, a folder of its own that is gone afterwards. */
export class WatcherNode {
  readonly url: string
  readonly #folder: string
  readonly #process: ChildProcess

  private constructor(url: string, folder: string, process: ChildProcess) {
    this.url = url
    this.#folder = folder
    this.#process = process
  }

  /** Resolves when it is ready. */
  static async start({ name, binary, prepare }: WatcherCommand): Promise<WatcherNode> {
    const folder = await mkdtemp(join(tmpdir(), `lazaret-${name}-`))
    const [port] = await freePorts(1)
    const words = await prepare(folder, port!)
    const log = await open(join(folder, 'log'), 'a')
    const child = spawn(binary, words, { cwd: folder, stdio: ['ignore', log.fd, log.fd] })
    await log.close()
    const node = new WatcherNode(`http://127.0.0.1:${port}`, folder, child)
    const giveUpAt = systemClock.now() + START_MS
    while (!(await node.#isReady())) {
      if (child.exitCode !== null || systemClock.now() > giveUpAt) {
        const log = await readFile(join(folder, 'log'), 'utf8')
        await node.close()
        throw new Error(`${name} did not start:\n${log.slice(-2_000)}`)
      }
      await delay(systemClock, POLL_MS)
    }
    return node
  }

  /** The JSON of a path of its API. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at any part of it
  async get(path: string): Promise<any> {
    return (await fetch(new URL(path, this.url))).json()
  }

  async close(): Promise<void> {
    const { exitCode, signalCode } = this.#process
    if (exitCode === null && signalCode === null) {
      const ended = once(this.#process, 'exit')
      this.#process.kill('SIGKILL')
      await ended
    }
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 10, retryDelay: POLL_MS })
  }

  async #isReady(): Promise<boolean> {
    return fetch(new URL('/-/ready', this.url)).then(
      ({ ok }) => ok,
      () => false,
    )
  }
}
