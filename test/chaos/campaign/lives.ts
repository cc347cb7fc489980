import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** A process through all of its lives: when it is killed, the next one begins. Its last argument tells which it is. */
export class Lives {
  /** How often it said each line: how a delivery ended, as far as the dead could tell. */
  readonly outcomes = new Map<string, number>()
  readonly #script: string
  readonly #args: readonly string[]
  #child: ChildProcess | undefined
  #count = 0

  constructor(script: string, ...args: readonly string[]) {
    this.#script = script
    this.#args = args
  }

  async begin(): Promise<void> {
    const args = ['--no-warnings', this.#script, ...this.#args, String(++this.#count)]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#child = child
    const lines = createInterface(child.stdout)
    lines.on('line', line => this.outcomes.set(line, (this.outcomes.get(line) ?? 0) + 1))
    await new Promise<void>((resolve, reject) => {
      lines.once('line', () => resolve())
      child.once('exit', code =>
        reject(new Error(`${this.#script} ended with ${code} before it said anything`)),
      )
    })
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL')
    await this.begin()
  }

  stop(): void {
    this.#child?.kill('SIGSTOP')
  }

  goOn(): void {
    this.#child?.kill('SIGCONT')
  }

  async end(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    await this.#end(signal)
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }
}
