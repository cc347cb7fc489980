/** Folders that a build or a repository puts its code in: what comes before one of them is where it was deployed to. */
const CODE_FOLDERS = new Set(['src', 'dist', 'build', 'lib', 'out'])

/** Schemes that stand before a path of the application; any other (`node:`, `wasm:`, `data:`) is not its code. */
const PATH_SCHEMES = new Set(['file', 'webpack', 'webpack-internal'])

/** A bundler's content hash: `index-3fa9c1d2.js`. It changes with every build. */
const CONTENT_HASH = /([-.])(?=[A-Za-z_]*\d)[A-Za-z0-9_]{8,64}(?=\.[a-z]{2,4}$)/

/** The path in a frame's location with forward slashes, or undefined when it is not a file of the application. */
export function filePathOf(location: string): string | undefined {
  if (location.includes('(eval at ') || location.startsWith('eval at ')) return undefined
  const path = normalPath(location.replace(/(?::\d{1,10}){1,2}$/, ''))
  if (path === undefined || !path.includes('/') || path.startsWith('internal/')) return undefined
  if (path.includes('/node_modules/')) return undefined
  return OWN_FOLDER !== undefined && path.startsWith(OWN_FOLDER) ? undefined : path
}

/**
 * Relative to the application's root when that is known and holds the file. Else from the last folder that usually
 * holds code, else the bare name: rather too little of the path than a part that differs between two machines.
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

/**
 * The folder of this package, for when it is not below node_modules (a link, a workspace). Inside a bundle this file
 * has no place of its own; taking the bundle's would rule out the whole application.
 */
const OWN_FOLDER = ownFolder(import.meta.url)

export function ownFolder(moduleUrl: string): string | undefined {
  const at = moduleUrl.lastIndexOf('/core/failure/file-path.')
  return at < 0 ? undefined : normalPath(moduleUrl.slice(0, at + 1))
}
