import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runScript, type Started, startScript } from './support/lazaret-process.ts'
import { ROOT } from './support/source.ts'

interface Block {
  readonly language: string
  readonly info: string
  readonly text: string
}

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lazaret-tutorial-'))
  await installFromSource(folder)
})
afterEach(() => rm(folder, { recursive: true }))

/** What `npm install lazaret` would do, with the sources in the place of what is built from them. */
async function installFromSource(into: string): Promise<void> {
  const sources = { '.': './src/index.ts', './sqlite': './src/adapters/sqlite/index.ts' }
  const manifest = { name: 'lazaret', type: 'module', exports: sources }
  // Outside node_modules, because there Node does not strip types.
  const home = join(into, 'package')
  await mkdir(home)
  await symlink(join(ROOT, 'src'), join(home, 'src'))
  await writeFile(join(home, 'package.json'), JSON.stringify(manifest))
  await mkdir(join(into, 'node_modules'))
  await symlink(home, join(into, 'node_modules/lazaret'))
  await writeFile(join(into, 'package.json'), '{ "type": "module" }')
}

async function blocksOf(page: string): Promise<Block[]> {
  const text = await readFile(join(ROOT, page), 'utf8')
  return [...text.matchAll(/^```(\w+) ?(.*)\n([\s\S]*?)^```$/gm)].map(([, language, info, body]) => ({
    language: language!,
    info: info!,
    text: body!,
  }))
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g

/** Ids and times differ on every run. */
function normalised(text: string): string[] {
  const lines = text.replace(UUID, '<id>').replace(TIME, '<time>').split('\n')
  return lines.map(line => line.trim().replace(/ {2,}/g, '  ')).filter(line => line !== '')
}

function expectShown(shown: string, expected: string): void {
  const actual = normalised(shown).join('\n')
  for (const line of normalised(expected)) expect(actual).toContain(line)
}

describe('the tutorial', () => {
  it('F8: leads from nothing to a recovered event, each step as it is written', async () => {
    const node = `node() { "${process.execPath}" "$@"; }; npx() { shift; lazaret "$@"; }`
    let shop: Started | undefined
    let shown = ''
    let id = ''
    try {
      for (const { language, info, text } of await blocksOf('docs/guides/tutorial.md')) {
        if (info === 'install') continue
        if (language === 'js' && info.startsWith('edit ')) await mend(join(folder, info.slice(5)), text)
        else if (language === 'js') await writeFile(join(folder, info), text)
        else if (language === 'sh' && info === 'shop') {
          shop?.signal('SIGINT')
          await shop?.ended
          shop = startScript(`${node}\n${text}`, folder)
          await shop.says('the shop is open')
          shown = 'the shop is open'
        } else if (language === 'sh') {
          const ended = await runScript(`${node}\n${text.replaceAll(/\bID\b/g, id)}`, folder)
          expect(ended.code, `${text}${ended.err}`).toBe(0)
          shown = ended.out
          ;[id = ''] = UUID.exec(shown) ?? []
          UUID.lastIndex = 0
        } else if (info === 'shop') for (const line of normalised(text)) await shop!.says(line)
        else expectShown(shown, text)
        // The letter is there once the shop has tried it as often as it may.
        if (info === 'shop' && language === 'text') await deadLettersOf(1)
      }
    } finally {
      shop?.signal('SIGINT')
      await shop?.ended
    }
  })
})

async function mend(file: string, line: string): Promise<void> {
  const text = await readFile(file, 'utf8')
  const mended = text.replace(/^.*console\.log\(`order .*\n/m, () => line)
  expect(mended).not.toBe(text)
  await writeFile(file, mended)
}

async function deadLettersOf(count: number): Promise<void> {
  for (;;) {
    const { out } = await runScript('lazaret dlq stats --json', folder)
    if (JSON.parse(out).count === count) return
  }
}
