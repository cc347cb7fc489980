/** Folders that usually contain code. The part of the path before them depends on the deployment. */
const CODE_FOLDERS = new Set(['src', 'dist', 'build', 'lib', 'out'])

/** Schemes before a path of the application. Any other scheme (`node:`, `wasm:`, `data:`) is not application code. */
const PATH_SCHEMES = new Set(['file', 'webpack', 'webpack-internal'])

/** The content hash of a bundler, as in `index-3fa9c1d2.js`. It changes with every build. */
const CONTENT_HASH = /([-.])(?=[A-Za-z_]*\d)[A-Za-z0-9_]{8,64}(?=\.[a-z]{2,4}$)/

/** Returns the path in the location of a frame, with forward slashes; undefined if it is not a file of the application. */
export function filePathOf(location: string): string | undefined {
  if (location.includes('(eval at ') || location.startsWith('eval at ')) return undefined
  const path = normalPath(location.replace(/(?::\d{1,10}){1,2}$/, ''))
  if (path === undefined || !path.includes('/') || path.startsWith('internal/')) return undefined
  if (path.includes('/node_modules/')) return undefined
  return OWN_FOLDER !== undefined && path.startsWith(OWN_FOLDER) ? undefined : path
}

/**
 * Returns the path relative to the application root, if the root is known and contains the file. Otherwise it begins at
 * the last folder that usually contains code, or is the file name alone. A short path is better than a part that differs
 * between two machines.
 */
export function relativePath(path: string, applicationRoot: string | undefined): string {
  return withoutRoot(path, applicationRoot).replace(CONTENT_HASH, '$1#')
}

function withoutRoot(path: string, applicationRoot: string | undefined): string {
  const root = applicationRoot === undefined ? undefined : normalPath(applicationRoot)?.replace(/\/$/, '')
  if (root?.includes('/') && path.startsWith(`${root}/`)) return path.slice(root.length + 1)
  const segments = path.split('/')
  const start = segments.findLastIndex(
    (segment, index) => CODE_FOLDERS.has(segment) && index < segments.length - 1,
  )
  return segments.slice(start < 0 ? -1 : start).join('/')
}

function normalPath(location: string): string | undefined {
  const scheme = /^([a-z][a-z0-9+.-]{1,30}):/i.exec(location)?.[1]
  if (scheme === undefined) return location.replaceAll('\\', '/')
  if (!PATH_SCHEMES.has(scheme)) return undefined
  const [path = ''] = location.slice(scheme.length + 1).split(/[?#]/, 1)
  const decoded = scheme === 'file' ? decode(path) : path
  // file:///srv/app and file:///C:/app
  return decoded.replace(/^\/\/(?:\/(?=[A-Za-z]:\/))?/, '')
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/** Where this code runs: as a file of its own, or in the file of the published package that has it. */
const OWN_FILE = /\/(core\/failure\/file-path\.[jt]s|chunks\/lazaret-core\.js)$/

/**
 * The folder of this package, for installations outside node_modules (a link, a workspace). It is undefined inside a
 * bundle: there it would be the folder of the bundle, and all code of the application would count as ours.
 */
const OWN_FOLDER = ownFolder(import.meta.filename)

/** A bundle in the format of CommonJS does not know its file. */
export function ownFolder(file: string | undefined): string | undefined {
  const path = file && normalPath(file)
  return path && OWN_FILE.test(path) ? path.replace(OWN_FILE, '/') : undefined
}
