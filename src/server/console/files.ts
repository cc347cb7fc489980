import { readdir, readFile, stat } from 'node:fs/promises'
import { extname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { Clock } from '../../ports/clock.ts'
import { API } from '../http/route.ts'
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
/** Vite puts a content hash into the file name, so a browser may cache such a file permanently. */
const HASHED = /-[\w-]{8,}\.\w+$/
const INDEX = 'index.html'
const RELIST_EVERY_MS = 1_000

interface CachedFile {
  readonly version: string
  readonly bytes: Buffer<ArrayBuffer>
  readonly gzipped: Buffer<ArrayBuffer>
}

/**
 * Serves the files of the console. It looks a path up in the list of existing files and never builds a file path from it,
 * so no request can leave the folder. Paths without a file extension get `index.html`, whose router shows the page.
 */
export class ConsoleFiles {
  readonly #folder: string | undefined
  readonly #clock: Clock
  readonly #basePath: string
  readonly #files = new Map<string, CachedFile>()
  #names: ReadonlySet<string> = new Set()
  #listedAt = Number.NEGATIVE_INFINITY

  constructor(folder: string | URL | undefined, clock: Clock, basePath: string) {
    const chosen = folder ?? defaultFolder()
    this.#folder = chosen === 'none' ? undefined : chosen instanceof URL ? fileURLToPath(chosen) : chosen
    this.#clock = clock
    this.#basePath = basePath
  }

  async serve(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    const name = decoded(pathname).slice(this.#basePath.length).replace(/^\/+/, '')
    await this.#listFiles()
    const isThere = this.#names.has(name)
    // A missing file must be a 404. A browser that got a page instead of a script would report a misleading error.
    const wanted = isThere ? name : posix.extname(name) === '' || name === INDEX ? INDEX : undefined
    if (wanted === undefined || !this.#names.has(wanted)) throw this.#notFound(pathname)
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

  /** Lists the files again, so that a console that is rebuilt while the server runs is served. */
  async #listFiles(): Promise<void> {
    const now = this.#clock.now()
    if (this.#folder === undefined || Math.abs(now - this.#listedAt) < RELIST_EVERY_MS) return
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
    const version = `W/"${mtimeMs.toString(36)}-${size.toString(36)}${this.#basePath}"`
    const file = this.#files.get(name)
    if (file?.version === version) return file
    const bytes = name === INDEX ? this.#placed(await readFile(path, 'utf8')) : await readFile(path)
    const read = { version, bytes, gzipped: gzipSync(bytes) }
    this.#files.set(name, read)
    return read
  }

  /**
   * The build does not know where the server answers, so its page names files from `./` and has an empty base path. A
   * browser would look for such a file beside the address of a screen, such as `/letters/`.
   */
  #placed(page: string): Buffer<ArrayBuffer> {
    const base = this.#basePath
    return Buffer.from(
      page
        .replaceAll(/\b(src|href)="\.\//g, `$1="${base}/`)
        .replace(
          '<meta name="lazaret-base-path" content=""',
          `<meta name="lazaret-base-path" content="${base}"`,
        ),
    )
  }

  #notFound(path: string): ProblemError {
    const detail =
      this.#names.size === 0
        ? `The console is not built. Build it with npm run build, or use the API at ${this.#basePath}${API}.`
        : `The console has no file ${path.slice(0, 200)}. Reload the page.`
    return new ProblemError('not-found', detail)
  }
}

/** The build is in `dist/console`, for the sources and for the package. */
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
