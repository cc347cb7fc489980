import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { missing } from './debian.ts'
import type { FoundProgram } from './go-program.ts'
import { CACHES, makeOnce } from './make-once.ts'

const run = promisify(execFile)
const INSTALL_MS = 1_200_000
const VERSION = '4.32.5'

/** The Python that has schemathesis, which sends requests by an OpenAPI document: `python -m schemathesis.cli`. */
export async function findSchemathesis(): Promise<FoundProgram> {
  const folder = join(CACHES, `schemathesis-${VERSION}`)
  try {
    await makeOnce(folder, install)
  } catch (error) {
    return missing('schemathesis', `Python could not install ${VERSION}: ${String(error).split('\n')[0]}`)
  }
  return { found: true, binary: pythonIn(folder) }
}

async function install(folder: string): Promise<void> {
  await run('python3', ['-m', 'venv', folder], { timeout: INSTALL_MS })
  const words = ['-m', 'pip', 'install', '--quiet', `schemathesis==${VERSION}`]
  await run(pythonIn(folder), words, { timeout: INSTALL_MS })
}

function pythonIn(folder: string): string {
  return join(folder, 'bin/python')
}
