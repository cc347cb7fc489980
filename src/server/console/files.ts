import { readdir, readFile, stat } from 'node:fs/promises'
import { extname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { Clock } from '../../ports/clock.ts'
import { ProblemError } from '../problem.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
}
/** Vite puts a hash of the content into the name: under that name there will never be anything else. */
const HASHED = /-[\w-]{8,}\.\w+$/
const INDEX = 'index.html'
const RELIST_EVERY_MS = 1_000

interface CachedFile {
  readonly version: string
  readonly bytes: Buffer<ArrayBuffer>
  readonly gzipped: Buffer<ArrayBuffer>
}

/**
 * The console's files. A path is looked up among those that are there and is never made into one, so none leads out of
 * the folder. Every other path is a page of the console, whose router finds it.
 */
export class ConsoleFiles {
  readonly #folder: string | undefined
  readonly #clock: Clock
  readonly #files = new Map<string, CachedFile>()
  #names: ReadonlySet<string> = new Set()
  #listedAt = Number.NEGATIVE_INFINITY

  constructor(folder: string | URL | undefined, clock: Clock) {
    const chosen = folder ?? defaultFolder()
    this.#folder = chosen === 'none' ? undefined : chosen instanceof URL ? fileURLToPath(chosen) : chosen
    this.#clock = clock
  }

  async serve(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    const name = decoded(pathname).replace(/^\/+/, '')
    await this.#listFiles()
    const isThere = this.#names.has(name)
    // A file that is not there is no place of the console: a script that got a page instead would fail in riddles.
    const wanted = isThere ? name : posix.extname(name) === '' || name === INDEX ? INDEX : undefined
    if (wanted === undefined || !this.#names.has(wanted)) throw notFound(this.#names.size === 0)
    const file = await this.#readFile(wanted)
    const headers: Record<string, string> = {
      'content-type': TYPES[extname(wanted)] ?? 'application/octet-stream',
      'cache-control': HASHED.test(wanted) ? 'public, max-age=31536000, immutable' : 'no-cache',
      etag: file.version,
      vary: 'accept-encoding',
    }
    if (request.headers.get('if-none-match') === file.version)
      return new Response(null, { status: 304, headers })
    const takesGzip = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')
    if (!takesGzip) return new Response(file.bytes, { headers })
    return new Response(file.gzipped, { headers: { ...headers, 'content-encoding': 'gzip' } })
  }

  /** A console that is rebuilt while the server runs is found. */
  async #listFiles(): Promise<void> {
    const now = this.#clock.now()
    if (this.#folder === undefined || now - this.#listedAt < RELIST_EVERY_MS) return
    this.#listedAt = now
    const entries = await readdir(this.#folder, { recursive: true, withFileTypes: true }).catch(() => [])
    const root = this.#folder
    this.#names = new Set(
      entries
        .filter(entry => entry.isFile())
        .map(entry => join(entry.parentPath, entry.name).slice(join(root, '/').length).replaceAll('\\', '/')),
    )
  }

  async #readFile(name: string): Promise<CachedFile> {
    const path = join(this.#folder!, name)
    const { mtimeMs, size } = await stat(path)
    const version = `W/"${mtimeMs.toString(36)}-${size.toString(36)}"`
    const file = this.#files.get(name)
    if (file?.version === version) return file
    const bytes = await readFile(path)
    const read = { version, bytes, gzipped: gzipSync(bytes) }
    this.#files.set(name, read)
    return read
  }
}

/** Both from the sources and from the package the build lies in `dist/console`. */
function defaultFolder(): URL {
  const isBuilt = import.meta.url.endsWith('.js')
  return new URL(isBuilt ? '../../console/' : '../../../dist/console/', import.meta.url)
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

function notFound(isEmpty: boolean): ProblemError {
  const detail = isEmpty
    ? 'The console is not built. Build it with npm run build, or use the API at /api/v1.'
    : 'File not found.'
  return new ProblemError('not-found', detail)
}
