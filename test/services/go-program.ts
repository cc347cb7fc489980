import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Found, missing } from './debian.ts'
import { CACHES, makeOnce } from './make-once.ts'

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
  const folder = join(CACHES, `${name}-${version}`)
  try {
    await makeOnce(folder, partial => build(partial, source, module))
  } catch (error) {
    return missing(name, `Go could not build ${version}: ${String(error).split('\n')[0]}`)
  }
  return { found: true, binary: join(folder, name) }
}

async function build(folder: string, source: string, module: string | undefined): Promise<void> {
  const env = { ...process.env, GOBIN: folder }
  await run('go', ['install', source], { timeout: BUILD_MS, env, ...(module && { cwd: module }) })
}
