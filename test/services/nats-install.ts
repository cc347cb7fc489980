import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Found, findPackage, missing } from './debian.ts'
import { runs } from './prometheus.ts'

const run = promisify(execFile)

/** The newest release. Change it here, and each machine builds the new one once. */
const NEWEST = 'v2.15.2'
const BUILD_MS = 1_200_000

/**
 * - `newest`: the latest release, built from the Go module proxy.
 * - `oldest`: Debian's, the oldest server that the adapter supports.
 */
export type NatsRelease = 'newest' | 'oldest'

export type FoundNatsServer =
  | { readonly found: true; readonly binary: string }
  | Extract<Found, { found: false }>

/** The program of a NATS server. */
export async function findNatsServer(release: NatsRelease): Promise<FoundNatsServer> {
  return release === 'newest' ? findNewest() : findOldest()
}

async function findNewest(): Promise<FoundNatsServer> {
  const folder = join(await cacheFolder(), `nats-${NEWEST}`)
  if (!existsSync(folder)) {
    try {
      await build(folder)
    } catch (error) {
      return missing('nats-server', `Go could not build ${NEWEST}: ${String(error).split('\n')[0]}`)
    }
  }
  return { found: true, binary: join(folder, 'nats-server') }
}

async function findOldest(): Promise<FoundNatsServer> {
  const binary = '/usr/sbin/nats-server'
  const found = await findPackage('nats-server', () => runs(binary))
  return found.found ? { found: true, binary } : found
}

async function cacheFolder(): Promise<string> {
  const folder = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'lazaret-tests')
  await mkdir(folder, { recursive: true })
  return folder
}

/** Builds beside the folder and renames the result, so that two runs at once do not see half of it. */
async function build(folder: string): Promise<void> {
  const partial = await mkdtemp(`${folder}-`)
  try {
    await run('go', ['install', `github.com/nats-io/nats-server/v2@${NEWEST}`], {
      timeout: BUILD_MS,
      env: { ...process.env, GOBIN: partial },
    })
    await rename(partial, folder).catch(error => {
      if (!existsSync(folder)) throw error
    })
  } finally {
    await rm(partial, { recursive: true, force: true })
  }
}
