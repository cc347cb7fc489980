import type { ChildProcess } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { type ServerParts, ServerProcess } from './server-process.ts'

const START_MS = 300_000

/** A private server: loopback only, free ports, a folder of its own. It can be killed, stopped, frozen and started again. */
export abstract class ServerNode {
  readonly folder: string
  readonly port: number
  readonly #server: ServerProcess
  readonly #pollMs: number

  protected constructor(
    folder: string,
    port: number,
    parts: Omit<ServerParts, 'startMs' | 'spawn' | 'answers'>,
  ) {
    this.folder = folder
    this.port = port
    this.#pollMs = parts.pollMs
    this.#server = new ServerProcess({
      ...parts,
      startMs: START_MS,
      spawn: () => this.spawn(),
      answers: () => this.answers(),
    })
  }

  protected abstract spawn(): Promise<ChildProcess>
  protected abstract answers(): Promise<boolean>

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

  async remove(): Promise<void> {
    await this.kill()
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: this.#pollMs })
  }
}
