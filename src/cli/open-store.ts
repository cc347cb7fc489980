import { readdir, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Config } from '../config/config.ts'
import type { Retention } from '../core/dead-letter/retention.ts'
import { withoutCredentials } from '../core/options/show.ts'
import type { Codec } from '../ports/codec.ts'
import type { Store } from '../ports/store.ts'
import { FailedError, type OpenOptions, UsageError } from './io.ts'
import { suggest } from './suggest.ts'

export type StoreAddress =
  | { readonly kind: 'memory'; readonly url: string }
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'redis'; readonly url: string }
  | { readonly kind: 'file' | 'sqlite'; readonly url: string; readonly path: string }

const SCHEMES = ['memory', 'file', 'sqlite', 'postgres', 'postgresql', 'redis', 'rediss'] as const
const FORMS = 'memory:, file:DIR, sqlite:FILE, postgres://HOST/DATABASE or redis://HOST'

/** Parses a store URL. */
export function readStoreUrl(url: string, folder: string): StoreAddress {
  const [, scheme, rest = ''] = /^([a-z][a-z0-9+.-]*):(.*)$/is.exec(url) ?? []
  const shown = withoutCredentials(url)
  if (scheme === undefined) {
    const guess = /\.(?:db|sqlite3?)$/.test(url) ? `sqlite:${url}` : `file:${url}`
    throw new UsageError(`the store "${shown}" is not a URL; try ${guess}`)
  }
  if (scheme === 'memory') return { kind: 'memory', url: 'memory:' }
  const kind = SCHEMES.find(each => each === scheme)
  if (kind === undefined) {
    const near = suggest(scheme, SCHEMES)
    throw new UsageError(
      `the store ${shown} has an unknown type; ${near === undefined ? `use ${FORMS}` : `did you mean '${near}:${rest}'?`}`,
    )
  }
  if (kind === 'postgres' || kind === 'postgresql')
    return { kind: 'postgres', url: serverUrl(url, rest, 'postgres://HOST/DATABASE') }
  if (kind === 'redis' || kind === 'rediss')
    return { kind: 'redis', url: serverUrl(url, rest, 'redis://HOST') }
  if (rest === '' || rest === ':memory:') throw new UsageError(`the store ${shown} has no path; use ${FORMS}`)
  const path = rest.startsWith('//') ? fileURLToPath(`file:${rest}`) : resolve(folder, rest)
  return { kind: kind as 'file' | 'sqlite', url, path }
}

/** Checks for a host, because the client would take any text for a host name and try to resolve it. */
function serverUrl(url: string, rest: string, form: string): string {
  if (rest.startsWith('//') && URL.canParse(url)) return url
  throw new UsageError(`the store ${withoutCredentials(url)} has no host; use ${form}`)
}

export async function openStore(
  url: string,
  { clock, config, creates, folder }: OpenOptions,
): Promise<Store> {
  const address = readStoreUrl(url, folder)
  if ('path' in address) await requireStorePath(address, creates)
  const codec = await codecOf(config)
  const kept = { codec, clock, ...retentionOf(config) }
  const named = { codec, clock, name: config.brokerName }
  switch (address.kind) {
    case 'memory':
      return (await import('../adapters/memory/index.ts')).memoryStore({ clock })
    case 'file':
      return (await import('../adapters/file/index.ts')).fileStore({ ...kept, dir: address.path })
    case 'sqlite':
      return whenReady(
        (await import('../adapters/sqlite/index.ts')).openSqlite({ ...named, path: address.path }),
      )
    case 'postgres':
      // Opening never creates the schema: `outbox migrate` does, run by a user with the rights.
      return whenReady(
        await (await import('../adapters/postgres/index.ts')).connectPostgres(address.url, named),
      )
    case 'redis':
      // Redis needs no preparation: without letters there are no keys.
      return (await import('../adapters/redis/index.ts')).connectRedis(address.url, { ...named, ...kept })
  }
}

async function whenReady<S extends Store & { ready(): Promise<void> }>(store: S): Promise<S> {
  try {
    await store.ready()
    return store
  } catch (error) {
    await store.close().catch(() => {})
    throw error
  }
}

/** Throws unless the path exists and has the right type. */
async function requireStorePath(
  { kind, url, path }: Extract<StoreAddress, { path: string }>,
  creates: OpenOptions['creates'],
): Promise<void> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new FailedError(`cannot read the store ${url} (${error.code} at ${path}); check its permissions`)
  })
  if (found === undefined) {
    if (creates === 'if-missing') return
    throw new FailedError(
      `no store at ${path} (${url}); pass another one with --store, or start the service that creates it`,
    )
  }
  if (kind === 'file' && !found.isDirectory())
    throw new FailedError(`the store ${url} is a file, not a folder; try sqlite:${url.slice('file:'.length)}`)
  if (kind === 'sqlite' && !found.isFile())
    throw new FailedError(`the store ${url} is a folder, not a file; try file:${url.slice('sqlite:'.length)}`)
  if (creates === 'never' && !(kind === 'file' ? await containsStore(path) : found.size > 0))
    throw new FailedError(
      `${path} contains no store (${url}); pass another one with --store, or start the service that creates it`,
    )
}

/** A file store has a folder for each day, or at least the lock file of its first process. */
async function containsStore(folder: string): Promise<boolean> {
  const names = await readdir(folder)
  return names.some(name => name === 'lock' || /^\d{4}-\d\d-\d\d$/.test(name))
}

/** Without keys in the config, letters are neither encrypted nor decrypted. */
export async function codecOf({ sealing }: Config): Promise<Codec | undefined> {
  if (sealing === undefined) return undefined
  const { createSealing } = await import('../runtime/sealing/sealing.ts')
  return createSealing(sealing)
}

function retentionOf({ retention, expireUndecidedAfter }: Config): Partial<Retention> {
  return {
    ...(retention === undefined ? {} : { retentionMs: retention }),
    ...(expireUndecidedAfter === undefined ? {} : { expireUndecidedAfterMs: expireUndecidedAfter }),
  }
}
