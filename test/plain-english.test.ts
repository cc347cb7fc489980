import { expect, it } from 'vitest'
import { findings, RULES } from './support/plain-english.ts'

// A search that reads the glossary wrongly finds nothing to complain about, so the test expects a number of rules first.
const FEWEST_RULES = 50

it('comments, messages, test titles and pages use the words of the glossary and plain sentences', () => {
  expect(RULES.length).toBeGreaterThan(FEWEST_RULES)
  const found = findings().map(({ path, line, words, rule }) => `${path}:${line} "${words}": ${rule.advice}`)
  expect(found).toEqual([])
})

it.each([
  ['a comment', 'src/a.ts', '/** The letter of whoever\n * asked. */\nexport const a = 1\n', 'whoever'],
  ['line comments', 'src/a.ts', '// It waits for\n// ever.\nexport const a = 1\n', 'for ever'],
  ['a message', 'src/a.ts', "throw new Error('the text is no JSON')\n", 'is no J'],
  ['the text of the console', 'console/src/a.tsx', 'export const a = <p>Mend the fields</p>\n', 'Mend'],
  [
    'a test title',
    'src/a.test.ts',
    "it.each([1])('B1: what is shown is masked', () => {})\n",
    'what is shown is',
  ],
  ['a name', 'src/a.ts', 'export class Desk {}\n', 'Desk'],
  ['a page', 'docs/a.md', 'The far\nside answers.\n', 'far side'],
])('finds the words that we do not use in %s', (_, path, text, words) => {
  const file = { path, text, lines: text.split('\n').length - 1 }
  const found = path.endsWith('.md') ? findings([], [file]) : findings([file], [])
  expect(found.map(finding => finding.words)).toEqual([words])
})

it.each([
  ['code in a page', 'docs/a.md', 'Run `mend` first.\n\n```ts\nconst whoever = 1\n```\n'],
  ['the data of a test', 'src/a.test.ts', "const reason = 'the far side is no broker'\n"],
  [
    'plain English',
    'src/a.ts',
    '// There is no letter. It is no longer there, and nobody can say what it was.\n',
  ],
])('leaves %s alone', (_, path, text) => {
  const file = { path, text, lines: text.split('\n').length - 1 }
  expect(path.endsWith('.md') ? findings([], [file]) : findings([file], [])).toEqual([])
})
