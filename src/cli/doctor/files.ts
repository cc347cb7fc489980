import { lstat, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { quoted } from '../../server/views/command.ts'
import { readStoreUrl, type StoreAddress } from '../open-store.ts'
import { counted } from '../print/fields.ts'
import { type Check, failWith, ok, warn } from './check.ts'

/** The permission bits of group and others. */
const OTHERS = 0o077
/** Checking more files takes too long, and these are enough to act on. */
const MAX_READ = 10_000

/** Stores hold payloads, so only the owner may read their files. Earlier versions created files with wider permissions. */
export async function checkPermissions(
  address: Extract<StoreAddress, { path: string }>,
  name = 'modes',
): Promise<Check[]> {
  // Windows has no such permission bits.
  if (process.platform === 'win32') return []
  try {
    const found = await modeOf(address.path)
    if (found === undefined) return []
    const isFolder = found.isDirectory
    const paths = isFolder ? await within(address.path) : filesOf(address.path)
    const loose: string[] = []
    for (const path of paths) if (((await modeOf(path))?.mode ?? 0) & OTHERS) loose.push(path)
    if (loose.length === 0) return [ok(name, `only the owner can read ${address.path}`)]
    const what =
      loose.length === 1 ? loose[0]! : `${counted(loose.length, 'file or folder')} of ${address.path}`
    const remedy = isFolder
      ? `chmod -R go-rwx ${quoted(address.path)}`
      : `chmod 600 ${loose.map(quoted).join(' ')}`
    return [warn(name, `other users of this machine can read ${what}`, remedy)]
  } catch (error) {
    return [failWith(name, error, 'check that you may read it')]
  }
}

async function within(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder, { recursive: true })
  return [folder, ...names.slice(0, MAX_READ).map(name => join(folder, name))]
}

function filesOf(path: string): readonly string[] {
  return [path, `${path}-wal`, `${path}-shm`]
}

/** Undefined when the file does not exist. */
async function modeOf(path: string): Promise<{ mode: number; isDirectory: boolean } | undefined> {
  try {
    const found = await lstat(path)
    // The mode of a symbolic link has no meaning.
    return found.isSymbolicLink() ? undefined : { mode: found.mode, isDirectory: found.isDirectory() }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Warns of letters in the spill. They are safe but invisible: their store is down, or their service has not run since. */
export async function checkSpill({ spill }: Config, folder: string): Promise<Check[]> {
  if (spill === undefined) return []
  try {
    const address = readStoreUrl(spill, folder)
    if (address.kind !== 'file') return []
    if ((await stat(address.path).catch(() => undefined)) === undefined)
      return [ok('spill', `${spill} does not exist yet`)]
    const { fileSpill } = await import('../../adapters/file/index.ts')
    const waiting = fileSpill({ dir: address.path })
    try {
      const size = await waiting.size()
      const loose = await checkPermissions(address, 'spill modes')
      const warnings = loose.filter(({ status }) => status !== 'ok')
      if (size === 0) return [ok('spill', `${spill} is empty`), ...warnings]
      const remedy = 'check that the store is reachable; a running service then moves them there'
      return [warn('spill', `${counted(size, 'letter')} in ${spill}`, remedy), ...warnings]
    } finally {
      await waiting.close()
    }
  } catch (error) {
    return [failWith('spill', error, 'fix this error, then run lazaret doctor again')]
  }
}
