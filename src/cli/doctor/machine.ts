import { constants } from 'node:fs'
import { access, stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Io } from '../io.ts'
import { isNodeNewEnough, MIN_NODE_VERSION } from '../node-version.ts'
import type { StoreAddress } from '../open-store.ts'
import { sizeText } from '../print/fields.ts'
import { iso, relative } from '../print/times.ts'
import { type Check, fail, ok, warn } from './check.ts'

const MINUTE_MS = 60_000
/** No correct clock shows a time before this code was written. */
const EARLIEST_MS = Date.UTC(2025, 0, 1)
const LATEST_MS = Date.UTC(2100, 0, 1)
/** Clocks of machines in a network may differ by this much. */
const TOLERATED_MS = 5 * MINUTE_MS
const FULL_SHARE = 0.02
const LOW_SHARE = 0.1
const FULL_BYTES = 64 * 1024 ** 2
const LOW_BYTES = 1024 ** 3

export function checkNode(version: string): Check {
  return isNodeNewEnough(version)
    ? ok('node', version)
    : fail('node', `${version} is too old`, `install Node ${MIN_NODE_VERSION} or newer`)
}

/** Checks the clock against the times in the store, because a clock that was set back breaks every sort by time. */
export async function checkClock(
  io: Io,
  address: StoreAddress | undefined,
  newestAt: number | undefined,
): Promise<Check> {
  const now = io.clock.now()
  const remedy = 'set the clock, and keep it right with NTP (timedatectl set-ntp true)'
  if (now < EARLIEST_MS || now > LATEST_MS)
    return fail('clock', `the clock says ${iso(now)}, which cannot be right`, remedy)
  const written =
    address === undefined || !('path' in address)
      ? undefined
      : await stat(address.path).catch(() => undefined)
  if (written !== undefined && written.mtimeMs > now + TOLERATED_MS)
    return fail(
      'clock',
      `the clock says ${iso(now)}, but the store was written ${relative(written.mtimeMs, now)}`,
      remedy,
    )
  if (newestAt !== undefined && newestAt > now + TOLERATED_MS)
    return warn(
      'clock',
      `the clock says ${iso(now)}, but a letter failed ${relative(newestAt, now)}`,
      'set the clocks of the machines that write to this store; keep them right with NTP',
    )
  return ok('clock', iso(now))
}

export async function checkAccess(name: string, path: string): Promise<Check> {
  try {
    await access(path, constants.R_OK | constants.W_OK)
    // SQLite creates its log beside the database, so the folder must be accessible too.
    await access(dirname(path), constants.X_OK)
    return ok(name, `${path} can be read and written`)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return fail(
      name,
      `${path} cannot be read and written (${code})`,
      'run as the user that owns it, or change its owner or mode',
    )
  }
}

export async function checkDisk(path: string): Promise<Check> {
  try {
    const { bavail, blocks, bsize } = await statfs(path)
    const free = bavail * bsize
    const share = blocks === 0 ? 1 : bavail / blocks
    const found = `${sizeText(free)} (${Math.floor(share * 100)} %) free`
    const remedy =
      'remove other files, then purge resolved letters (lazaret dlq purge --state resolved), or move the store to a larger disk'
    if (free < FULL_BYTES || share < FULL_SHARE) return fail('disk', found, remedy)
    return free < LOW_BYTES || share < LOW_SHARE ? warn('disk', found, remedy) : ok('disk', found)
  } catch (error) {
    return warn(
      'disk',
      `free space is unknown (${(error as NodeJS.ErrnoException).code})`,
      'check it with df',
    )
  }
}
