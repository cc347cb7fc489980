import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { COMPILE_CACHE_ENV } from '../services/compile-cache.ts'
import { ROOT } from '../support/source.ts'
import { type CodeBlock, codeBlocks, pagesBelow, readPage } from './markdown.ts'

/**
 * The TypeScript blocks with this mark after their language. A block marked `run` is a whole program and checks its own
 * results; a block marked `run on redis` also needs that server.
 */
export function programsMarked(mark: string): CodeBlock[] {
  return [readPage('README.md'), ...pagesBelow('docs')]
    .flatMap(codeBlocks)
    .filter(({ language, info }) => language === 'ts' && info === mark)
}

/** Runs a program as a reader would, in an empty folder of its own. Rejects when it fails. */
export async function runProgram(
  text: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'lazaret-docs-run-'))
  try {
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
    const file = join(folder, 'example.ts')
    await writeFile(file, text)
    const fromSource = join(ROOT, 'test/support/from-source.ts')
    return await promisify(execFile)(process.execPath, ['--no-warnings', '--import', fromSource, file], {
      cwd: folder,
      env: { ...process.env, ...COMPILE_CACHE_ENV, ...env },
    })
  } finally {
    await rm(folder, { recursive: true })
  }
}
