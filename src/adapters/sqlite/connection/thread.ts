import { Worker } from 'node:worker_threads'
import type { OpenedFile } from '../../../adapter-kit/opened-file.ts'
import { type Clock, steadyTime, yieldToEventLoop } from '../../../ports/clock.ts'
import { SqliteError } from '../errors.ts'
import type { Answer, Call, CallBatch, Failure, Opening, ThreadData } from './messages.ts'

/** The most requests in one message, so that the thread has work while the caller creates more. */
const POSTED_AT_ONCE = 32

/** The objects of a thread live for one request. A larger young generation would only take more memory. */
const YOUNG_MB = 4

/** A thread inherits the options of Node, and cannot start from a file with `--input-type`, which belongs to `--eval`. */
const IS_PROGRAM_TEXT = process.execArgv.some(each => each.startsWith('--input-type'))

interface Pending {
  resolve(result: unknown): void
  reject(error: unknown): void
}

type Args<F> = F extends (...args: infer A) => unknown ? A : never
type Result<F> = F extends (...args: never[]) => infer R ? R : never

/**
 * The database file that this process has opened, shared by all its threads for that path. A thread that starts later opens the same
 * file or none.
 */
export interface FilePlace {
  opened?: OpenedFile | undefined
}

/** Receives the parts of an answer other than its results. */
type Listener = (answer: Answer) => void

/**
 * One thread of a database, seen from the caller's. `Parts` are the objects in the thread whose methods it runs. It is started by the first call and asked in batches: whatever is
 * called for in one turn of the event loop crosses together, and answers come in the order of the calls.
 *
 * idle ─call▶ starting ─▶ running ─end▶ idle. When it cannot be opened or dies, all calls under way reject and it is
 * idle again: the next call starts another.
 */
export class Thread<Parts> {
  readonly #data: ThreadData
  readonly #place: FilePlace
  readonly #clock: Clock
  readonly #steadyNow: () => number
  readonly #listen: Listener
  #worker: Worker | undefined
  #isOpen = false
  #calls: Call[] = []
  #pending: Pending[] = []
  #answered = 0
  #willPost = false
  #onIdle: (() => void)[] = []

  constructor(
    data: ThreadData,
    place: FilePlace,
    clock: Clock,
    steadyNow: () => number = steadyTime(clock),
    listen: Listener = () => {},
  ) {
    this.#data = data
    this.#place = place
    this.#clock = clock
    this.#steadyNow = steadyNow
    this.#listen = listen
  }

  call<P extends keyof Parts & string, M extends keyof Parts[P] & string>(
    part: P,
    method: M,
    ...args: Args<Parts[P][M]>
  ): Promise<Result<Parts[P][M]>> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ resolve: resolve as (result: unknown) => void, reject })
      this.#calls.push([part, method, args])
      if (this.#calls.length >= POSTED_AT_ONCE) this.#post()
      else if (!this.#willPost) {
        this.#willPost = true
        // Posts after all promises of this turn, so that their calls travel together.
        process.nextTick(() => this.#post())
      }
    })
  }

  /** Resolves when all that was called for is answered and the thread is gone. */
  async end(): Promise<void> {
    while (this.#pending.length > this.#answered) {
      await new Promise<void>(resolve => this.#onIdle.push(resolve))
      // A caller that got its answer may send more calls.
      await yieldToEventLoop()
    }
    const worker = this.#worker
    if (worker === undefined) return
    const gone = new Promise(resolve => worker.once('exit', resolve))
    worker.ref()
    worker.postMessage({ now: 0, steadyNow: 0, calls: [] } satisfies CallBatch)
    await gone
  }

  #post(): void {
    this.#willPost = false
    if (this.#calls.length === 0) return
    try {
      this.#start()
    } catch (error) {
      const { message, stack } = error as Error
      this.#fail(undefined, { kind: 'start', message, stack })
      return
    }
    this.#worker!.ref()
    if (this.#isOpen) this.#flush()
  }

  #flush(): void {
    if (this.#calls.length === 0) return
    const batch: CallBatch = { now: this.#clock.now(), steadyNow: this.#steadyNow(), calls: this.#calls }
    this.#calls = []
    this.#worker!.postMessage(batch)
  }

  #start(): void {
    if (this.#worker !== undefined) return
    // The extension is that of this file: `.ts` in the sources, `.js` in the build.
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
    const url = new URL(`./worker.${extension}`, import.meta.url)
    const worker = new Worker(url, {
      workerData: { ...this.#data, opened: this.#place.opened } satisfies ThreadData,
      name: `lazaret-sqlite-${this.#data.role}`,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
      ...(IS_PROGRAM_TEXT && { execArgv: [] }),
    })
    this.#worker = worker
    worker.once('message', (opening: Opening) => {
      if (!opening.opened) return this.#fail(worker, opening.failure)
      this.#isOpen = true
      this.#place.opened ??= opening.file
      worker.on('message', (answer: Answer) => this.#take(answer))
      this.#flush()
    })
    worker.once('error', error =>
      this.#fail(worker, { kind: 'bug', message: error.message, stack: error.stack }),
    )
    worker.once('exit', code =>
      this.#fail(worker, { kind: 'bug', message: `its thread ended with exit code ${code}` }),
    )
  }

  #take(answer: Answer): void {
    const { results, failed } = answer
    const count = typeof results === 'number' ? results : results.length
    const first = this.#answered
    this.#answered += count
    // Deliveries come before the answers to calls: a caller that unsubscribes has seen all deliveries.
    this.#listen(answer)
    for (const [index, failure] of failed ?? [])
      this.#pending[first + index]!.reject(new SqliteError(this.#data.path, failure))
    for (let index = 0; index < count; index++)
      this.#pending[first + index]!.resolve(typeof results === 'number' ? undefined : results[index])
    if (this.#answered < this.#pending.length) this.#forgetAnswered()
    else this.#rest()
  }

  /** No caller waits for the thread, so it does not keep the process alive. */
  #rest(): void {
    this.#pending = []
    this.#answered = 0
    this.#worker?.unref()
    for (const tell of this.#onIdle.splice(0)) tell()
  }

  #forgetAnswered(): void {
    if (this.#answered * 2 < this.#pending.length) return
    this.#pending = this.#pending.slice(this.#answered)
    this.#answered = 0
  }

  #fail(worker: Worker | undefined, failure: Failure): void {
    if (this.#worker !== worker) return
    const pending = this.#pending.slice(this.#answered)
    // Before the file is open, the thread has done little except load its own code, so this is a failure to start.
    const kind = failure.kind === 'bug' && !this.#isOpen ? 'start' : failure.kind
    this.#worker = undefined
    this.#isOpen = false
    this.#calls = []
    this.#rest()
    for (const { reject } of pending) reject(new SqliteError(this.#data.path, { ...failure, kind }))
  }
}
