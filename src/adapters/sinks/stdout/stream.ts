import { endsWithinLine, fileBehind, writeAll } from '../../../adapter-kit/file-system.ts'
import { PermanentError, TransientError } from '../../../core/failure/signals.ts'
import { untilAborted } from '../../../ports/clock.ts'

/** A writable stream of Node, such as `process.stdout`. */
export interface OutputStream {
  write(text: string, done: (error?: Error | null) => void): boolean
  on(event: 'error', listener: (error: Error) => void): unknown
  once(event: 'drain' | 'close', listener: () => void): unknown
  off(event: 'error' | 'drain' | 'close', listener: (error: Error) => void): unknown
  readonly isTTY?: boolean | undefined
  readonly writable: boolean
  readonly writableNeedDrain: boolean
}

/** The reader of the pipe has exited and does not come back to this process. */
const BROKEN_PIPE_CODES = new Set([
  'EPIPE',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
  'ECONNRESET',
])

/** Writes to a stream as fast as it is read. */
export class Output {
  readonly #stream: OutputStream
  readonly #file: number | undefined
  /** The write to the file that is under way. It never rejects. */
  #appending: Promise<void> | undefined
  /** The file may end within a line, because the disk took a part of a batch. Undefined before the first batch. */
  #isTorn: boolean | undefined
  #isGuarded = false
  /** After a broken pipe, Node reports `process.stdout` as writable again, and as full for good. */
  #isBroken = false
  /** A broken pipe also emits an error event. Without a listener that would end the process. */
  readonly #onError = () => {}

  constructor(stream: OutputStream) {
    this.#stream = stream
    this.#file = fileBehind(stream)
  }

  /** Resolves when the system has accepted the text. Text is not added while a slow reader blocks earlier text. */
  async write(text: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    this.check()
    if (this.#file !== undefined) return await this.#append(this.#file, text, signal)
    this.#guard()
    if (this.#stream.writableNeedDrain) await this.#drained(signal)
    this.check()
    await untilAborted(this.#taken(text), signal)
  }

  check(): void {
    if (this.#isBroken || !this.#stream.writable) throw brokenPipeError(undefined)
  }

  /** A stream that broke stays guarded: its event may be yet to come. */
  close(): void {
    if (!this.#isGuarded || !this.#stream.writable) return
    this.#stream.off('error', this.#onError)
    this.#isGuarded = false
  }

  #guard(): void {
    if (this.#isGuarded) return
    this.#isGuarded = true
    this.#stream.on('error', this.#onError)
  }

  #taken(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#stream.write(text, error => {
        if (error === null || error === undefined) resolve()
        else reject(this.#failure(error))
      })
    })
  }

  async #append(file: number, text: string, signal: AbortSignal): Promise<void> {
    while (this.#appending !== undefined) await untilAborted(this.#appending, signal)
    const appended = this.#appendAll(file, text)
    this.#appending = appended.catch(() => {})
    await untilAborted(appended, signal)
  }

  async #appendAll(file: number, text: string): Promise<void> {
    try {
      // A process before this one may have been killed within a line.
      this.#isTorn ??= await endsWithinLine(file)
      const bytes = Buffer.from(this.#isTorn ? `\n${text}` : text)
      this.#isTorn = true
      await writeAll(file, bytes, 'end')
      this.#isTorn = false
    } catch (error) {
      throw this.#failure(error as Error)
    } finally {
      this.#appending = undefined
    }
  }

  #failure(error: Error): Error {
    const { code } = error as { readonly code?: unknown }
    if (typeof code === 'string' && BROKEN_PIPE_CODES.has(code)) {
      this.#isBroken = true
      return brokenPipeError(error)
    }
    return new TransientError(`standard output: ${error.message}; check where it is redirected`, {
      cause: error,
    })
  }

  async #drained(signal: AbortSignal): Promise<void> {
    let stop = () => {}
    const drained = new Promise<void>(resolve => {
      stop = resolve
      this.#stream.once('drain', resolve)
      this.#stream.once('close', resolve)
    })
    try {
      await untilAborted(drained, signal)
    } finally {
      this.#stream.off('drain', stop)
      this.#stream.off('close', stop)
    }
  }
}

function brokenPipeError(cause: Error | undefined): PermanentError {
  return new PermanentError('standard output: its reader has ended; check why the reader ended', {
    cause,
    category: 'integration',
  })
}
