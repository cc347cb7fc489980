import { hostname } from 'node:os'
import { join } from 'node:path'
import { isDiskFull } from '../errors.ts'
import { codeOf, type Files, ignoringCode, readWhole } from './files.ts'

/** The owner of a lock, described so precisely that another process can find out whether it still runs. */
export interface Owner {
  /** Unique for every opened journal. */
  readonly id: string
  readonly pid: number
  readonly host: string
  /** The start time of the process, in ticks since the boot. The system reuses a pid alone. */
  readonly startTime?: string | undefined
  /** The boot of the machine and the pid namespace. Each container has its own namespace. */
  readonly boot?: string | undefined
  readonly pidNamespace?: string | undefined
}

/**
 * `unknown`: the owner runs on another machine, or the system gives no information. Then only the time without a change
 * counts.
 */
type Liveness = 'alive' | 'dead' | 'unknown'

export async function describeSelf(files: Files, id: string): Promise<Owner> {
  const [startTime, boot, pidNamespace] = await Promise.all([
    startTimeOf(files, process.pid).catch(() => undefined),
    textOf(files, '/proc/sys/kernel/random/boot_id').catch(() => undefined),
    files.mark('/proc/self/ns/pid').catch(() => undefined),
  ])
  return {
    id,
    pid: process.pid,
    host: hostname(),
    startTime,
    boot,
    pidNamespace: pidNamespace?.split(':')[1],
  }
}

export async function livenessOf(files: Files, owner: Owner, self: Owner): Promise<Liveness> {
  const isTold = owner.boot !== undefined && owner.pidNamespace !== undefined && owner.startTime !== undefined
  if (!isTold || self.boot === undefined) return 'unknown'
  // The same machine was restarted, so no earlier process runs. About another machine nothing is known.
  if (owner.boot !== self.boot) return owner.host === self.host ? 'dead' : 'unknown'
  if (owner.pidNamespace !== self.pidNamespace) return 'unknown'
  try {
    return (await startTimeOf(files, owner.pid)) === owner.startTime ? 'alive' : 'dead'
  } catch {
    // The check failed, for example without a free file handle. That says nothing about the other process.
    return 'unknown'
  }
}

export function parseOwner(text: string): Owner | undefined {
  try {
    const owner: unknown = JSON.parse(text)
    return isOwner(owner) ? owner : undefined
  } catch {
    return undefined
  }
}

function isOwner(value: unknown): value is Owner {
  const owner = value as Partial<Owner> | null
  return typeof owner?.id === 'string' && typeof owner.pid === 'number'
}

/**
 * Fields 3 and 22 of stat in proc(5). The process name before them may contain any character, so the fields are counted
 * from the last bracket. An ended process that its parent has not collected is still listed as a zombie.
 */
async function startTimeOf(files: Files, pid: number): Promise<string | undefined> {
  const stat = await textOf(files, `/proc/${pid}/stat`)
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
  return /^[ZXx]$/.test(fields[0] ?? '') ? undefined : fields[19]
}

const PROC_BYTES = 4_096

/** Returns undefined if the file does not exist. Files in /proc report no size. */
async function textOf(files: Files, path: string): Promise<string | undefined> {
  try {
    const fd = await files.open(path, 'r')
    try {
      const bytes = Buffer.allocUnsafe(PROC_BYTES)
      return bytes.toString('utf8', 0, await files.read(fd, bytes, 0)).trim()
    } finally {
      await files.close(fd)
    }
  } catch (error) {
    // A process can end between the opening and the reading of its file.
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ESRCH') return undefined
    throw error
  }
}

const OWNER_PREFIX = 'owner.'

export function ownerPath(folder: string, id: string): string {
  return join(folder, OWNER_PREFIX + id)
}

/**
 * Records the owner durably, so that others can tell when the lock of this owner ends. On a full disk the record stays empty:
 * the lock needs only the file. Others then wait longer for the lock, if this process ends while it holds it.
 */
export async function registerOwner(files: Files, folder: string, self: Owner): Promise<void> {
  const fd = await files.open(ownerPath(folder, self.id), 'wx')
  try {
    await files.write(fd, Buffer.from(JSON.stringify(self)), 0)
    await files.datasync(fd)
  } catch (error) {
    if (!isDiskFull(error)) throw error
  } finally {
    await files.close(fd)
  }
}

export async function unregisterOwner(files: Files, folder: string, self: Owner): Promise<void> {
  await ignoringCode('ENOENT', () => files.remove(ownerPath(folder, self.id)))
}

/** Whether the owner with this id has ended: it left, its record was removed, or its process is dead. */
export async function hasEnded(files: Files, folder: string, id: string, self: Owner): Promise<boolean> {
  const bytes = await ignoringCode('ENOENT', () => readWhole(files, ownerPath(folder, id)))
  const owner = bytes && parseOwner(bytes.toString())
  return bytes === undefined || (owner !== undefined && (await livenessOf(files, owner, self)) === 'dead')
}

/** Removes the records of dead processes. A lock that such a process held stays; the next `acquire` replaces it. */
export async function removeDeadOwners(files: Files, folder: string, self: Owner): Promise<void> {
  for (const name of await files.list(folder)) {
    if (!name.startsWith(OWNER_PREFIX)) continue
    const path = join(folder, name)
    const owner = parseOwner((await readWhole(files, path).catch(() => '')).toString())
    if (owner === undefined || (await livenessOf(files, owner, self)) !== 'dead') continue
    await files.remove(path).catch(() => {})
  }
}
