import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../support/source.ts'
import { type Missing, missing } from './debian.ts'
import { makeOnce } from './make-once.ts'

const run = promisify(execFile)
const DOWNLOAD_MS = 600_000
/** In the checkout, because a server that refuses to run as root cannot read root's own cache. */
const UNPACKED = join(ROOT, 'node_modules/.cache/lazaret-npm')

export type FoundPackage = { readonly found: true; readonly folder: string } | Missing

/** Unpacks one version of a package, without its dependencies and without running its scripts. */
export async function findNpmPackage(name: string, version: string): Promise<FoundPackage> {
  const folder = join(UNPACKED, `${name.replace('@', '').replace('/', '-')}-${version}`)
  try {
    await makeOnce(folder, partial => unpack(partial, `${name}@${version}`))
  } catch (error) {
    return missing(name, `npm could not bring ${version}: ${String(error).split('\n')[0]}`)
  }
  return { found: true, folder: join(folder, 'package') }
}

async function unpack(folder: string, source: string): Promise<void> {
  const packed = join(folder, 'packed')
  await mkdir(packed)
  const words = ['pack', '--silent', '--pack-destination', packed, source]
  const { stdout } = await run('npm', words, { timeout: DOWNLOAD_MS })
  await run('tar', ['-xzf', join(packed, stdout.trim().split('\n').at(-1)!), '-C', folder])
}
