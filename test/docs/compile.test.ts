import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ROOT } from '../support/source.ts'
import { type CodeBlock, codeBlocks, pagesBelow, readPage } from './markdown.ts'

// A search that finds no block has nothing to complain about, so the test expects a number of blocks first.
const FEWEST_BLOCKS = 70
const TYPESCRIPT = ['ts', 'typescript', 'tsx']
/** Blocks of the guides import these files by their relative names, as the files beside them do. */
const EXAMPLES = [
  'examples/tracking',
  'examples/tracing',
  'examples/custom-adapter',
  'examples/testing-handlers',
  'examples/nestjs',
]

const blocks = [readPage('README.md'), readPage('CONTRIBUTING.md'), ...pagesBelow('docs')]
  .flatMap(codeBlocks)
  .filter(({ language }) => TYPESCRIPT.includes(language))

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lazaret-docs-'))
})
afterAll(() => rm(folder, { recursive: true }))

it('"Every TypeScript block in docs/ and README is compiled by a test", against the public entry points', async () => {
  expect(blocks.length).toBeGreaterThan(FEWEST_BLOCKS)
  const programs = programsOf(blocks)
  await Promise.all(programs.map(({ name, text }) => writeFile(join(folder, name), text)))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(await settings()))
  expect(await compile(new Map(programs.map(({ name, page }) => [name, page])))).toEqual([])
})

interface Program {
  readonly name: string
  readonly page: string
  readonly text: string
}

/**
 * A block with an import begins a program. A block without one continues the program above it on the page, in a scope
 * of its own, so that it can reuse names. Each line keeps its number, so that the compiler's messages name the line of
 * the page.
 */
function programsOf(all: readonly CodeBlock[]): Program[] {
  return [...Map.groupBy(all, ({ page }) => page)].flatMap(([page, ofPage]) => {
    const programs: CodeBlock[][] = []
    for (const block of ofPage) {
      const beginsProgram = programs.length === 0 || /^import /m.test(block.text)
      if (beginsProgram) programs.push([block])
      else programs.at(-1)!.push(block)
    }
    return programs.map((parts, index) => ({
      name: `${page.replaceAll(/[/.]/g, '-')}-${index}.ts`,
      page,
      text: `${joined(parts)}${'}'.repeat(parts.length - 1)}\nexport {}\n`,
    }))
  })
}

function joined(parts: readonly CodeBlock[]): string {
  return parts.reduce((text, block, index) => {
    const isNested = index > 0
    const gap = '\n'.repeat(block.line - text.split('\n').length)
    const body = isNested ? block.text.replaceAll(/^export /gm, '') : block.text
    return `${text}${isNested ? '{' : ''}${gap}${body}`
  }, '')
}

async function settings() {
  const base = JSON.parse(await readFile(join(ROOT, 'tsconfig.json'), 'utf8')).compilerOptions
  return {
    compilerOptions: {
      ...base,
      paths: await entryPoints(),
      rootDirs: ['.', ...EXAMPLES.map(path => join(ROOT, path))],
      typeRoots: [join(ROOT, 'node_modules/@types')],
      // A block shows how to get an object and leaves its use to the reader.
      noUnusedLocals: false,
      noUnusedParameters: false,
      noPropertyAccessFromIndexSignature: false,
    },
    include: ['*.ts', join(ROOT, 'test/docs/reader-code.d.ts')],
  }
}

/** The sources behind the `exports` of package.json, so that a name which is not public does not compile. */
async function entryPoints(): Promise<Record<string, string[]>> {
  const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  return Object.fromEntries(
    Object.entries<{ types?: string }>(manifest.exports)
      .filter(([, { types }]) => types !== undefined)
      .map(([subpath, { types }]) => [
        subpath.replace('.', 'lazaret'),
        [join(ROOT, types!.replace('./dist/', 'src/').replace('.d.ts', '.ts'))],
      ]),
  )
}

async function compile(pages: ReadonlyMap<string, string>): Promise<string[]> {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  const output = await promisify(execFile)(process.execPath, [tsc, '-p', folder, '--pretty', 'false'], {
    cwd: folder,
  }).then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }) => `${stdout}${stderr}`,
  )
  return output
    .split('\n')
    .filter(line => line !== '')
    .map(line => line.replace(/^[\w-]+\.ts/, name => pages.get(name) ?? name))
}
