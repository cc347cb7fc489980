import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Found, missing } from './debian.ts'

const run = promisify(execFile)
const BUILD_MS = 1_200_000

export type FoundProgram =
  | { readonly found: true; readonly binary: string }
  | Extract<Found, { found: false }>

export interface GoProgram {
  /** Of the file that Go writes. */
  readonly name: string
  /** Another version is built again. */
  readonly version: string
  /** What `go install` is to build, such as `github.com/rhysd/actionlint/cmd/actionlint@v1.7.12`. */
  readonly source: string
  /** The folder of the module, if the source is not one that Go downloads. */
  readonly module?: string
}

/** Go builds the program once for this machine, in a folder that all runs share. */
export async function findGoProgram({ name, version, source, module }: GoProgram): Promise<FoundProgram> {
  const caches = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'lazaret-tests')
  const folder = join(caches, `${name}-${version}`)
  if (!existsSync(folder)) {
    await mkdir(caches, { recursive: true })
    try {
      await build(folder, source, module)
    } catch (error) {
      return missing(name, `Go could not build ${version}: ${String(error).split('\n')[0]}`)
    }
  }
  return { found: true, binary: join(folder, name) }
}

/** Builds beside the folder and renames the result, so that two runs at once do not see half of it. */
async function build(folder: string, source: string, module: string | undefined): Promise<void> {
  const partial = await mkdtemp(`${folder}-`)
  try {
    const env = { ...process.env, GOBIN: partial }
    await run('go', ['install', source], { timeout: BUILD_MS, env, ...(module && { cwd: module }) })
    await rename(partial, folder).catch(error => {
      if (!existsSync(folder)) throw error
    })
  } finally {
    await rm(partial, { recursive: true, force: true })
  }
}
