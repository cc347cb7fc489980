import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { pages } from './support/prose.ts'
import { ROOT, sourceFiles } from './support/source.ts'

const PAGE = 'docs/writing.md'
const EXAMPLES_OF_A_KIND = 20

/** The files that hold the texts of each kind. */
const SOURCES: Readonly<Record<string, () => readonly { path: string; text: string }[]>> = {
  'Command line': () => shipped('src/cli'),
  'HTTP API': () => shipped('src/server'),
  Console: () => shipped('console/src'),
  'Log lines': () => [
    ...shipped('src/runtime/log'),
    ...shipped('src/server/work'),
    ...shipped('src/cli/verbs'),
  ],
  Errors: () => shipped('src'),
  Documentation: () => pages().filter(({ path }) => path !== PAGE && path !== 'CHANGELOG.md'),
}

it.each(Object.entries(SOURCES))(
  '"Twenty messages of each kind": %s, and each of them is in use',
  (kind, read) => {
    const texts = examplesOf(kind)
    expect(texts).toHaveLength(EXAMPLES_OF_A_KIND)
    const files = read()
    expect(texts.filter(text => !isIn(files, patternOf(text)))).toEqual([])
  },
)

function shipped(folder: string) {
  return sourceFiles(folder).filter(({ path }) => !/\.test\.tsx?$/.test(path))
}

function isIn(files: readonly { text: string }[], pattern: RegExp): boolean {
  return files.some(({ text }) => pattern.test(text))
}

/** The right column of the table below a heading. */
function examplesOf(kind: string): string[] {
  const [, section = ''] = readFileSync(join(ROOT, PAGE), 'utf8').split(`\n## ${kind}\n`)
  const [table = ''] = section.split('\n## ')
  return [...table.matchAll(/^\| `[^`]*` \| `([^`]*)` \|$/gm)].map(([, after]) => after!)
}

/** `…` matches any value or code on one line, and a space matches a line break, because sources wrap their texts. */
function patternOf(text: string): RegExp {
  const parts = text
    .replace(/^…|…$/g, '')
    .split('…')
    .map(part => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(' ', '\\s+'))
  return new RegExp(parts.join('[^\\n]{1,120}?'))
}
