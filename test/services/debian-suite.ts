import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findPackage, type Missing, missing } from './debian.ts'
import { CACHES, makeOnce } from './make-once.ts'
import { runs } from './prometheus.ts'

const run = promisify(execFile)
const DOWNLOAD_MS = 900_000
const SUITE = 'trixie'
/** The servers, then what their start scripts call. */
const PACKAGES = [
  ...['rabbitmq-server', 'redis-server', 'valkey-server'],
  ...['coreutils', 'dash', 'findutils', 'grep', 'libc-bin', 'libc6', 'mawk', 'sed', 'util-linux'],
]
/** Folders of programs, named as tests call them. Valkey is started as Redis is. */
const PROGRAMS = {
  rabbitmq: {
    'rabbitmq-server': '/usr/lib/rabbitmq/bin/rabbitmq-server',
    epmd: '/usr/bin/epmd',
    erl_call: '/usr/bin/erl_call',
  },
  redis: { 'redis-server': '/usr/bin/redis-server' },
  valkey: { 'redis-server': '/usr/bin/valkey-server' },
} as const

export type SuiteServer = keyof typeof PROGRAMS

export type FoundBinaries = { readonly found: true; readonly binaries: string } | Missing

/**
 * The folder of a server's programs from the Debian release after the one that tests use. It is unpacked into the cache and
 * installed nowhere.
 */
export async function findInSuite(server: SuiteServer): Promise<FoundBinaries> {
  if (process.getuid?.() !== 0)
    return missing(server, `Debian ${SUITE} is unpacked and mounted by root alone`)
  const tool = await findPackage('mmdebstrap', () => runs('mmdebstrap'))
  if (!tool.found) return tool
  const version = createHash('sha256')
    .update(JSON.stringify([PACKAGES, PROGRAMS]))
    .digest('hex')
  const folder = join(CACHES, `debian-${SUITE}-${version.slice(0, 12)}`)
  try {
    await makeOnce(folder, partial => unpack(partial, folder))
  } catch (error) {
    return missing(server, `Debian ${SUITE} could not be unpacked: ${String(error).split('\n').at(-2)}`)
  }
  return { found: true, binaries: binariesIn(folder, server) }
}

async function unpack(partial: string, folder: string): Promise<void> {
  const words = ['--mode=root', '--variant=extract', `--include=${PACKAGES.join(',')}`]
  await run('mmdebstrap', [...words, SUITE, join(partial, 'system')], { timeout: DOWNLOAD_MS })
  for (const server of Object.keys(PROGRAMS) as SuiteServer[]) {
    const binaries = binariesIn(partial, server)
    await mkdir(binaries, { recursive: true })
    for (const [name, path] of Object.entries(PROGRAMS[server])) {
      const file = join(binaries, name)
      await writeFile(file, toScript(join(folder, 'system/usr'), path))
      await chmod(file, 0o755)
    }
  }
  // Where a server of Debian finds its libraries, seen from its programs.
  await symlink('../system/usr/lib/rabbitmq/lib', join(partial, 'rabbitmq/lib'))
}

/** A newer program needs newer libraries. They take the place of the machine's for its process, which stays the same one. */
function toScript(usr: string, program: string): string {
  const inside = `mount --bind ${usr} /usr && exec "$0" "$@"`
  return `#!/bin/sh\nexec unshare --mount sh -c '${inside}' ${program} "$@"\n`
}

function binariesIn(folder: string, server: SuiteServer): string {
  return join(folder, server, 'bin')
}
