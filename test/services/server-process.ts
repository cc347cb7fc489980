import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../src/ports/clock.ts'

export interface ServerParts {
  /** Names it in errors. */
  readonly name: string
  /** How long it may take to answer. */
  readonly startMs: number
  /** Between two looks at whether it does. */
  readonly pollMs: number
  spawn(): Promise<ChildProcess>
  answers(): Promise<boolean>
  /** What it wrote. */
  readonly log: string
  /**
   * If the server exits before it answers, it is started again: files of its previous run can block the first start.
   */
  readonly isTriedAgain: boolean
  /** It leads a group of processes, and signals are for all of them. */
  readonly isGroup: boolean
}

/** The process of a server that tests start, signal and start again. */
export class ServerProcess {
  readonly #parts: ServerParts
  #child: ChildProcess | undefined

  constructor(parts: ServerParts) {
    this.#parts = parts
  }

  get isRunning(): boolean {
    return this.#child !== undefined && !hasEnded(this.#child)
  }

  /** Resolves when it answers. */
  async start(): Promise<void> {
    const { name, startMs, pollMs, isTriedAgain } = this.#parts
    const giveUpAt = systemClock.now() + startMs
    for (let starts = 0; !(this.isRunning && (await this.#parts.answers())); ) {
      const mayStart = isTriedAgain || starts === 0
      if (systemClock.now() > giveUpAt || !(this.isRunning || mayStart))
        throw new Error(`${name} did not start:\n${await this.#tail()}`)
      if (!this.isRunning) {
        this.#child = await this.#parts.spawn()
        starts++
      }
      await new Promise<void>(resolve => systemClock.schedule(pollMs, resolve))
    }
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#child !== undefined) this.#send(this.#child, signal)
  }

  /** Resolves when it is gone. */
  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || hasEnded(child)) return
    const ended = once(child, 'exit')
    this.#send(child, signal)
    await ended
  }

  #send(child: ChildProcess, signal: NodeJS.Signals): void {
    if (child.pid === undefined || hasEnded(child)) return
    process.kill(this.#parts.isGroup ? -child.pid : child.pid, signal)
  }

  async #tail(): Promise<string> {
    return (await readFile(this.#parts.log, 'utf8').catch(() => 'it wrote no log')).slice(-2_000)
  }
}

export function logIn(folder: string): string {
  return join(folder, 'log')
}

/** In its folder, with all that it says in `log`. */
export async function spawnIn(
  folder: string,
  binary: string,
  words: readonly string[],
  options: SpawnOptions = {},
): Promise<ChildProcess> {
  const log = await open(logIn(folder), 'a')
  const child = spawn(binary, words, { ...options, cwd: folder, stdio: ['ignore', log.fd, log.fd] })
  await log.close()
  return child
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}
