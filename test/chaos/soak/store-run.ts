import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Random } from '../../../src/core/random.ts'
import { settlesWithin, systemClock } from '../../../src/ports/clock.ts'
import { seededRandom } from '../../../src/testing/seeded-random.ts'
import { pause } from '../campaign/wait.ts'
import {
  type EndLine,
  FAULTS,
  type Fault,
  type FaultLine,
  type ProcessSample,
  type Request,
  type SoakOptions,
  type StoreName,
} from './plan.ts'
import type { ProcessOptions, Report } from './process.ts'
import { SERVERS, type ServerUnderSoak } from './servers.ts'

/** SIGUSR2 writes a snapshot of the heap into the working folder, for a series that rises. */
const EXEC_ARGS = ['--expose-gc', '--no-warnings', '--heapsnapshot-signal=SIGUSR2']
const SCRIPT = fileURLToPath(new URL('process.ts', import.meta.url))
/** A process that is stopped by its server for longer answers at the next sample. */
const ANSWER_MS = 8_000
/** Some faults end before a client gives its connection up, the others when its lease has ended too. */
const SHORTEST_FAULT_MS = 500
const LONGEST_FAULT_MS = 12_000
/** Longer than the process waits while something still moves. */
const END_MS = 600_000
const LOOK_MS = 250

/** One store of a soak: its server, its process, and what goes wrong with them. */
export class StoreRun {
  readonly name: StoreName
  readonly #options: SoakOptions
  readonly #server: ServerUnderSoak
  readonly #child: ChildProcess
  readonly #random: Random
  /** Faults that could not be ended, such as a folder that cannot come back because the store has made a new one. */
  readonly #problems: string[] = []
  #isCalm = false
  #failing: Promise<void> | undefined

  private constructor(name: StoreName, options: SoakOptions, server: ServerUnderSoak, child: ChildProcess) {
    this.name = name
    this.#options = options
    this.#server = server
    this.#child = child
    this.#random = seededRandom(options.seed + name.length + name.charCodeAt(0))
  }

  static async start(
    name: StoreName,
    options: SoakOptions,
    folder: string,
    receiver: string,
  ): Promise<StoreRun> {
    const own = join(folder, name)
    const data = join(own, 'data')
    await mkdir(own)
    const server = await SERVERS[name](data)
    const { perSecond, operateEveryMs, seed, retentionMs } = options
    const place = { url: server.url, data, folder: own, retentionMs }
    const given: ProcessOptions = { name, place, receiver, perSecond, operateEveryMs, seed }
    const child = fork(SCRIPT, [JSON.stringify(given)], { execArgv: EXEC_ARGS })
    try {
      await heard(child, message => (message === 'started' ? message : undefined)).answer
    } catch (error) {
      await server.close()
      throw error
    }
    return new StoreRun(name, options, server, child)
  }

  /** Injects faults until `calm`. */
  disturb(startedAt: number, told: (line: FaultLine) => void): void {
    this.#failing = this.#disturb(startedAt, told)
  }

  /** Resolves when no fault lasts any more. */
  async calm(): Promise<void> {
    this.#isCalm = true
    await this.#failing
  }

  /** Undefined if the process does not answer in time. */
  async sample(): Promise<(ProcessSample & { readonly storeBytes: number | undefined }) | undefined> {
    const [answer, storeBytes] = await Promise.all([
      this.#ask('sample', ANSWER_MS),
      within(ANSWER_MS, this.#server.size()),
    ])
    return answer !== undefined && 'sample' in answer ? { ...answer.sample, storeBytes } : undefined
  }

  /** Ends the load, and answers what became of the events. */
  async end(): Promise<EndLine['end'] | undefined> {
    const answer = await this.#ask('end', END_MS)
    if (answer === undefined || !('end' in answer)) return undefined
    return { ...answer.end, stuck: [...answer.end.stuck, ...this.#problems] }
  }

  async close(): Promise<void> {
    if (this.#isRunning && (await within(ANSWER_MS, once(this.#child, 'exit'))) === undefined)
      this.#child.kill('SIGKILL')
    await this.#server.close()
  }

  get #isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Undefined if the process has ended or does not answer in time. */
  #ask(request: 'sample' | 'end', limitMs: number): Promise<Report | undefined> {
    if (!this.#isRunning) return Promise.resolve(undefined)
    const wanted = (message: unknown) => (isReport(message) && request in message ? message : undefined)
    const { answer, stop } = heard(this.#child, wanted)
    this.#tell(request)
    return within(limitMs, answer).finally(stop)
  }

  #tell(request: Request): void {
    if (this.#child.connected) this.#child.send(request)
  }

  async #disturb(startedAt: number, told: (line: FaultLine) => void): Promise<void> {
    const faults = FAULTS.filter(fault => fault in this.#server.faults || this.#mayCut(fault))
    while (!this.#isCalm) {
      // Between half of the average and one and a half of it.
      const waitMs = this.#options.faultEveryMs * (0.5 + this.#random())
      const fault = faults[Math.floor(this.#random() * faults.length)]!
      const takesMs = SHORTEST_FAULT_MS + this.#random() * (this.#longestMs - SHORTEST_FAULT_MS)
      const dueAt = systemClock.now() + waitMs
      while (!this.#isCalm && systemClock.now() < dueAt) await pause(LOOK_MS)
      if (this.#isCalm) return
      const beganAt = systemClock.now()
      try {
        await this.#inject(fault, takesMs)
      } catch (error) {
        this.#problems.push(`${fault}: ${error instanceof Error ? error.message : error}`)
        return
      }
      const tookMs = systemClock.now() - beganAt
      told({ store: this.name, atMs: beganAt - startedAt, fault, tookMs })
    }
  }

  /** A short run has short faults. */
  get #longestMs(): number {
    return Math.min(LONGEST_FAULT_MS, this.#options.faultEveryMs / 3)
  }

  #mayCut(fault: Fault): boolean {
    return fault === 'cut' && this.#server.url !== ''
  }

  async #inject(fault: Fault, takesMs: number): Promise<void> {
    const inject = this.#server.faults[fault]
    if (inject === undefined) this.#tell('cut')
    else await inject(() => pause(takesMs))
  }
}

function isReport(message: unknown): message is Report {
  return typeof message === 'object' && message !== null
}

/** Undefined if it is late or rejects. */
async function within<T>(limitMs: number, work: Promise<T>): Promise<T | undefined> {
  if (!(await settlesWithin(systemClock, limitMs, work))) return undefined
  return await work.catch(() => undefined)
}

/** The first message that is wanted. Rejects if the process ends before. */
function heard<T>(child: ChildProcess, wanted: (message: unknown) => T | undefined) {
  const { promise: answer, resolve, reject } = Promise.withResolvers<T>()
  const hear = (message: unknown) => {
    const found = wanted(message)
    if (found !== undefined) resolve(found)
  }
  const fail = (code: number | null) => reject(new Error(`${SCRIPT} ended with ${code}`))
  child.on('message', hear)
  child.once('exit', fail)
  const stop = () => {
    child.off('message', hear)
    child.off('exit', fail)
  }
  return { answer, stop }
}
