import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'

/** A process through all of its lives: when it is ended, the next one begins. Its last argument tells which it is. */
export class RestartingProcess {
  /** How often it said each line: how a delivery ended, as far as the dead could tell. */
  readonly outcomes = new Map<string, number>()
  /** RestartingProcess that a SIGTERM ended with anything but the exit code 0. */
  failedEnds = 0
  readonly #script: string
  readonly #args: readonly string[]
  #child: ChildProcess | undefined
  #lines: Interface | undefined
  #count = 0
  /** What stands before the program on its command line. */
  #prefix: readonly string[] = []

  constructor(script: string, ...args: readonly string[]) {
    this.#script = script
    this.#args = args
  }

  /** A program that another command starts and then becomes, such as `ip netns exec`. */
  static behind(prefix: readonly string[], script: string, ...args: readonly string[]): RestartingProcess {
    const process = new RestartingProcess(script, ...args)
    process.#prefix = prefix
    return process
  }

  /** Of its present life. */
  get pid(): number {
    return this.#child?.pid ?? 0
  }

  get isRunning(): boolean {
    const child = this.#child
    return child !== undefined && child.exitCode === null && child.signalCode === null
  }

  async begin(): Promise<void> {
    await this.#spawn('started')
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL')
    await this.begin()
  }

  stop(): void {
    this.#child?.kill('SIGSTOP')
  }

  resume(): void {
    this.#child?.kill('SIGCONT')
  }

  async end(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    await this.#end(signal)
  }

  /** The second signal comes when the process has said that it is closing. */
  async endWithTwoSignals(): Promise<void> {
    const child = this.#child
    const closing = this.#said('closing').catch(() => {})
    const ended = this.#end('SIGTERM')
    await closing
    child?.kill('SIGTERM')
    await ended
  }

  /** A life that is ended as soon as it says that it is starting. */
  async endWhileStarting(): Promise<void> {
    await this.#spawn('starting')
    await this.#end('SIGTERM')
  }

  async #spawn(untilSaid: string): Promise<void> {
    const args = ['--no-warnings', this.#script, ...this.#args, String(++this.#count)]
    const [program, ...words] = [...this.#prefix, process.execPath, ...args]
    const child = spawn(program!, words, { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#child = child
    this.#lines = createInterface(child.stdout)
    this.#lines.on('line', line => this.outcomes.set(line, (this.outcomes.get(line) ?? 0) + 1))
    await this.#said(untilSaid)
  }

  #said(wanted: string): Promise<void> {
    const child = this.#child!
    const lines = this.#lines!
    return new Promise<void>((resolve, reject) => {
      const hear = (line: string) => {
        if (line !== wanted) return
        lines.off('line', hear)
        resolve()
      }
      lines.on('line', hear)
      child.once('exit', code =>
        reject(new Error(`${this.#script} ended with ${code} before it said '${wanted}'`)),
      )
    })
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (child === undefined || !this.isRunning) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
    if (signal === 'SIGTERM' && child.exitCode !== 0) this.failedEnds++
  }
}
