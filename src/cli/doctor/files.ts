import { lstat, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileUsage } from '../../adapters/file/index.ts'
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
export async function checkSpill({ spill: spillUrl }: Config, folder: string): Promise<Check[]> {
  return checkLines('spill', spillUrl, folder, async (dir, url) => {
    const { fileSpill } = await import('../../adapters/file/index.ts')
    const spill = fileSpill({ dir, onDamage: () => {} })
    try {
      // Reading finds damage, and the number is that of the readable letters after it.
      const damage = damageCheck('spill damage', await spill.usage())
      const size = await spill.size()
      const remedy = 'check that the store is reachable; a running service then moves them there'
      if (size > 0) return [warn('spill', `${counted(size, 'letter')} in ${url}`, remedy), ...damage]
      return damage.length > 0 ? damage : [ok('spill', `${url} is empty`)]
    } finally {
      await spill.close()
    }
  })
}

/** Events in the journal are on their way while their service runs, so only damage needs attention. */
export async function checkJournal({ journal: journalUrl }: Config, folder: string): Promise<Check[]> {
  return checkLines('journal', journalUrl, folder, async (dir, url) => {
    const { fileJournal } = await import('../../adapters/file/index.ts')
    const journal = fileJournal({ dir, onDamage: () => {} })
    try {
      const damage = damageCheck('journal damage', await journal.usage())
      const size = await journal.size()
      if (size > 0) return [ok('journal', `${counted(size, 'event')} in ${url}`), ...damage]
      return damage.length > 0 ? damage : [ok('journal', `${url} is empty`)]
    } finally {
      await journal.close()
    }
  })
}

async function checkLines(
  name: string,
  url: string | undefined,
  folder: string,
  check: (dir: string, url: string) => Promise<Check[]>,
): Promise<Check[]> {
  if (url === undefined) return []
  try {
    const address = readStoreUrl(url, folder)
    if (address.kind !== 'file') return []
    if ((await stat(address.path).catch(() => undefined)) === undefined)
      return [ok(name, `${url} does not exist yet`)]
    const found = await check(address.path, url)
    const loose = await checkPermissions(address, `${name} modes`)
    return [...found, ...loose.filter(({ status }) => status !== 'ok')]
  } catch (error) {
    return [failWith(name, error, 'fix this error, then run lazaret doctor again')]
  }
}

/** Warns of damaged lines, and of torn ones in files of their own. Empty if there are none. */
export function damageCheck(name: string, { damaged, damagedFiles, setAside }: FileUsage): Check[] {
  const inPlace = warn(name, `${counted(damaged, 'damaged line')}: ${inFiles(damagedFiles)}`, DAMAGE_REMEDY)
  const aside = `${counted(setAside.length, 'torn line')} kept apart: ${listed(setAside)}`
  return [
    ...(damaged > 0 ? [inPlace] : []),
    ...(setAside.length > 0 ? [warn(name, aside, SET_ASIDE_REMEDY)] : []),
  ]
}

const DAMAGE_REMEDY =
  'the lines are kept, and all other lines are readable: check the disk, and restore the lines from a backup'
const SET_ASIDE_REMEDY =
  'after a crash nothing is lost: delete the file; otherwise restore the line from a backup first'
/** More names do not help. */
const MAX_NAMED = 5

/** Names the files with damage, and how much each has. */
function inFiles(files: FileUsage['damagedFiles']): string {
  return listed(files.map(({ path, damaged }) => `${damaged} in ${path}`))
}

function listed(files: readonly string[]): string {
  const more = files.length - MAX_NAMED
  return [...files.slice(0, MAX_NAMED), ...(more > 0 ? [counted(more, 'other file')] : [])].join(', ')
}
