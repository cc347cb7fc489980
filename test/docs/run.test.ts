import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { COMPILE_CACHE_ENV } from '../services/compile-cache.ts'
import { ROOT } from '../support/source.ts'
import { codeBlocks, pagesBelow, readPage } from './markdown.ts'

/** A block marked "```ts run" is a whole program. It checks its own results with node:assert. */
const programs = [readPage('README.md'), ...pagesBelow('docs')]
  .flatMap(codeBlocks)
  .filter(({ language, info }) => language === 'ts' && info === 'run')

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lazaret-docs-run-'))
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
})
afterEach(() => rm(folder, { recursive: true }))

it.each(programs)(
  '"a complete example that runs in CI": $page, line $line',
  async ({ text }) => {
    const file = join(folder, 'example.ts')
    await writeFile(file, text)
    const fromSource = join(ROOT, 'test/support/from-source.ts')
    const ended = promisify(execFile)(process.execPath, ['--no-warnings', '--import', fromSource, file], {
      cwd: folder,
      env: { ...process.env, ...COMPILE_CACHE_ENV },
    })
    await expect(ended).resolves.toMatchObject({ stderr: '' })
  },
  120_000,
)
