import { constants } from 'node:fs'
import type { Files } from './files.ts'

const WIDTH = 64
const WRITING = ' writing'

/** The process that is writing; undefined if no write is in progress. */
export function activeWriter(marker: string): string | undefined {
  return marker.endsWith(WRITING) ? marker.slice(0, marker.indexOf(' ')) : undefined
}

/**
 * Records which process wrote last, in a small file that every process keeps open. A process that finds its last value
 * there knows with one small read that nobody else has written since, and need not read the folder. Only living
 * processes use it, so it is never synced: a process that opens a folder reads all of it.
 */
export class WriteMarker {
  readonly #files: Files
  readonly #path: string
  readonly #ownerId: string
  #fd = -1
  #count = 0

  constructor(files: Files, path: string, ownerId: string) {
    this.#files = files
    this.#path = path
    this.#ownerId = ownerId
  }

  /** Opens the file again, if it may have been replaced. */
  async open(): Promise<void> {
    await this.close()
    this.#fd = await this.#files.open(this.#path, constants.O_RDWR | constants.O_CREAT)
  }

  async read(): Promise<string> {
    const bytes = Buffer.alloc(WIDTH)
    await this.#files.read(this.#fd, bytes, 0)
    return bytes.toString('latin1').trimEnd()
  }

  /** Only the holder of the lock calls this, before it writes. */
  async begin(): Promise<void> {
    await this.#write(`${this.#ownerId} ${++this.#count}${WRITING}`)
  }

  /** Only the holder of the lock calls this, after it has written. Returns the new value of the marker. */
  async end(): Promise<string> {
    const text = `${this.#ownerId} ${this.#count}`
    await this.#write(text)
    return text
  }

  async close(): Promise<void> {
    if (this.#fd === -1) return
    const fd = this.#fd
    this.#fd = -1
    await this.#files.close(fd)
  }

  async #write(text: string): Promise<void> {
    await this.#files.write(this.#fd, Buffer.from(text.padEnd(WIDTH), 'latin1'), 0)
  }
}
