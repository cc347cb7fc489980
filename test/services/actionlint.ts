import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Found, missing } from './debian.ts'

const run = promisify(execFile)
const VERSION = 'v1.7.12'
const BUILD_MS = 600_000

export type FoundActionlint =
  | { readonly found: true; readonly binary: string }
  | Extract<Found, { found: false }>

/** The checker of GitHub's workflows. Go builds it once for this machine, in a folder that all runs share. */
export async function findActionlint(): Promise<FoundActionlint> {
  const caches = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  const folder = join(caches, 'lazaret-tests', `actionlint-${VERSION}`)
  if (!existsSync(folder)) {
    try {
      await build(folder)
    } catch (error) {
      return missing('actionlint', `Go could not build ${VERSION}: ${String(error).split('\n')[0]}`)
    }
  }
  return { found: true, binary: join(folder, 'actionlint') }
}

/** Builds beside the folder and renames the result, so that nobody sees half of it. */
async function build(folder: string): Promise<void> {
  await mkdir(join(folder, '..'), { recursive: true })
  const partial = await mkdtemp(`${folder}-`)
  try {
    await run('go', ['install', `github.com/rhysd/actionlint/cmd/actionlint@${VERSION}`], {
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
