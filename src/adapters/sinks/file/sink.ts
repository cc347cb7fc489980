import { dirname } from 'node:path'
import { SerialQueue } from '../../../adapter-kit/serial-queue.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { encodeEvent } from '../../../core/event/json.ts'
import { PermanentError, TransientError } from '../../../core/failure/signals.ts'
import type { Sink } from '../../../ports/sink.ts'
import { fileSinkError } from './errors.ts'
import { type Files, realFiles } from './files.ts'
import { OpenFile } from './open-file.ts'
import { type FileSinkOptions, type FileSinkSettings, resolveFileSinkOptions } from './options.ts'
import { dayOf, RotatedFiles } from './rotated-files.ts'

/** Writes events as JSON lines to a file that rotates. */
export function file(options: FileSinkOptions): FileSink {
  const sink = new FileSink(resolveFileSinkOptions(options), realFiles)
  sink.listen()
  return sink
}

/**
 * Each batch is one append. The first batch opens the file, and it stays open. After any failure it is closed, and the
 * next batch opens it again, which also repairs a torn last line. A file that was removed or moved is opened again too.
 */
export class FileSink implements Sink {
  readonly #settings: FileSinkSettings
  readonly #files: Files
  readonly #onHangUp = () => void this.reopen()
  #open: OpenFile | undefined
  /** A folder that goes missing later is not made again: it may be on a disk that is not mounted. */
  #wasOpened = false
  #isClosed = false
  /** Operations on the file run one after the other, also when a lane writes several batches at once. */
  readonly #turns = new SerialQueue()

  /** @internal Use `file()`. */
  constructor(settings: FileSinkSettings, files: Files) {
    this.#settings = settings
    this.#files = files
  }

  /** @internal From the start on: until somebody listens, SIGHUP ends the process. */
  listen(): void {
    if (this.#settings.signals) process.on('SIGHUP', this.#onHangUp)
  }

  write(batch: readonly LazaretEvent[], { signal }: { readonly signal: AbortSignal }): Promise<undefined> {
    return this.#turns.run(async () => {
      signal.throwIfAborted()
      if (this.#isClosed) throw closed(this.#settings.path)
      const lines = Buffer.from(batch.map(event => `${encodeEvent(event)}\n`).join(''))
      await this.#closingOnError('writing', () => this.#append(lines))
      return undefined
    })
  }

  /** The file can be opened, and its disk has room. */
  async probe(): Promise<void> {
    await this.#turns.run(async () => {
      if (this.#isClosed) throw closed(this.#settings.path)
      const { path, isShared } = await this.#closingOnError('probing', () => this.#opened())
      // Whether a device or a pipe takes more is not known before the write.
      if (isShared) return
      const folder = dirname(path)
      const free = await this.#files.freeBytes(folder).catch(() => undefined)
      if (free === 0) throw new TransientError(`${folder}: the disk is full; free disk space`)
    })
  }

  /** Closes the file; the next batch opens the path again. Call it after the file was moved. */
  async reopen(): Promise<void> {
    await this.#turns.run(() => this.#closeFile())
  }

  async close(): Promise<void> {
    this.#isClosed = true
    process.off('SIGHUP', this.#onHangUp)
    await this.#turns.run(() => this.#closeFile())
  }

  async #append(lines: Uint8Array): Promise<void> {
    const { clock, durable } = this.#settings
    const now = clock.now()
    const open = await this.#openedFor(lines.length, now)
    await open.append(lines, durable, now)
  }

  async #openedFor(bytes: number, now: number): Promise<OpenFile> {
    const open = await this.#opened()
    const { rotate } = this.#settings
    const isOld = rotate.daily && dayOf(open.writtenAt) !== dayOf(now)
    const isFull = open.size + bytes > rotate.bytes
    if (open.isShared || open.size === 0 || !(isOld || isFull)) return open
    await this.#closeFile()
    await new RotatedFiles(open.path).rotate(this.#files, dayOf(open.writtenAt), rotate.keep)
    return await this.#opened()
  }

  async #opened(): Promise<OpenFile> {
    const open = this.#open
    if (open !== undefined && (await open.isInPlace())) return open
    await this.#closeFile()
    const { path, durable } = this.#settings
    if (!this.#wasOpened) await this.#files.makeFolder(dirname(path))
    this.#open = await OpenFile.open(this.#files, path)
    this.#wasOpened = true
    if (durable && !this.#open.isShared) await this.#files.syncFolder(dirname(this.#open.path))
    return this.#open
  }

  async #closingOnError<T>(doing: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      await this.#closeFile()
      throw fileSinkError(doing, this.#settings.path, error)
    }
  }

  async #closeFile(): Promise<void> {
    const open = this.#open
    this.#open = undefined
    await open?.close().catch(() => {})
  }
}

function closed(path: string): PermanentError {
  return new PermanentError(`${path}: the sink is closed; do not write after close()`, {
    category: 'integration',
  })
}
