import { RedisServerError } from '../errors.ts'
import type { RedisConnection } from './connection.ts'
import { infoField, pairsOf, textOf } from './replies.ts'

/** The lowest version of Redis that Lazaret works with. */
export const MIN_VERSION = '6.2'

/** The configuration of a server that decides whether letters are safe. Undefined if the server does not report it. */
export interface ServerFindings {
  readonly version: string
  /** `primary` takes writes, a `replica` does not. */
  readonly role: 'primary' | 'replica'
  readonly evictionPolicy: string | undefined
  readonly usedBytes: number
  /** Undefined if the memory of the machine is the limit. */
  readonly maxBytes: number | undefined
  readonly appendOnly: boolean
  readonly appendFsync: string | undefined
  /** The points at which it saves everything, as in `save 3600 1`. */
  readonly snapshots: string | undefined
  /** Whether the last write to its log, and the last save, went well. */
  readonly isWriting: boolean
}

export async function inspectServer(on: RedisConnection): Promise<ServerFindings> {
  const doing = 'reading the status of the server'
  const info = textOf(await on.send(doing, ['INFO'], { idempotent: true, failOnFirstConnect: true }))
  const said = (name: string) => infoField(info, name)
  const config = await configOf(on, doing)
  const max = Number(said('maxmemory') ?? 0)
  return {
    version: said('redis_version') ?? '0',
    role: said('role') === 'slave' ? 'replica' : 'primary',
    evictionPolicy: said('maxmemory_policy'),
    usedBytes: Number(said('used_memory') ?? 0),
    maxBytes: max === 0 ? undefined : max,
    appendOnly: said('aof_enabled') === '1',
    appendFsync: config.get('appendfsync'),
    snapshots: config.get('save'),
    isWriting: said('aof_last_write_status') !== 'err' && said('rdb_last_bgsave_status') !== 'err',
  }
}

/** Providers often forbid this command. Then the values are unknown. */
async function configOf(on: RedisConnection, doing: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for (const name of ['appendfsync', 'save']) {
    const reply = await on.send(doing, ['CONFIG', 'GET', name], { idempotent: true }).catch(() => [])
    for (const [key, value] of pairsOf(reply)) found.set(key, textOf(value))
  }
  return found
}

export function requireFit({ version, role }: ServerFindings): void {
  if (!isVersionEnough(version))
    throw new RedisServerError(`is version ${version}`, `use Redis ${MIN_VERSION} or newer`)
  if (role === 'replica')
    throw new RedisServerError('is a replica and accepts no writes', 'connect to its primary')
}

/** Whether Lazaret works with this version of the server. */
export function isVersionEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [leastMajor = 0, leastMinor = 0] = MIN_VERSION.split('.').map(Number)
  return major > leastMajor || (major === leastMajor && minor >= leastMinor)
}
