import type { Cell } from './cell.ts'
import type { CellMissing, CellResult, CellRun } from './result.ts'

/** The results of all cells by name; those that never ran have none. */
export type MatrixResults = Readonly<Record<string, CellResult>>

const INTRODUCTION = `# Compatibility

This page is for operators and developers who choose versions of servers, of Node and of browsers. It lists what the tests of Lazaret ran on.
\`npm run matrix\` writes it; do not edit it by hand. See [how it is tested](testing.md#the-matrix).

Each row is a real server that the tests start, stop and kill themselves. The tests are the conformance suites and the integration tests of the
adapter. \`npm test\` runs the versions of Debian 12, the newest Postgres, Kafka and NATS, and the oldest NATS; the other rows run with this command alone.
[Sinks](sinks/README.md#what-they-were-tested-against) says which receivers are not available.
`

/** docs/compatibility.md */
export function writePage(cells: readonly Cell[], results: MatrixResults): string {
  const rows = cells.map(cell => ({ cell, result: results[cell.name] }))
  return [
    INTRODUCTION,
    '| on | version | from | tested on | Node | files | passed | failed | skipped |',
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- |',
    ...rows.map(({ cell, result }) => toRow(cell, result)),
    ...toSection(
      'Failed tests',
      rows.flatMap(({ cell, result }) => (isRun(result) ? failedIn(cell, result) : [])),
    ),
    ...toSection(
      'Skipped tests',
      rows.flatMap(({ cell, result }) => (isRun(result) ? skippedIn(cell, result) : [])),
    ),
    ...toSection(
      'Not available',
      rows.flatMap(({ cell, result }) =>
        isMissing(result) ? [`- ${cell.title}: ${escapeMarkdown(result.missing)}`] : [],
      ),
    ),
    '',
  ].join('\n')
}

function toRow({ title, source }: Cell, result: CellResult | undefined): string {
  const cells = isRun(result)
    ? [
        result.version,
        source,
        result.date,
        result.node,
        result.files,
        result.passed,
        result.failed.length,
        result.skipped.reduce((sum, { tests }) => sum + tests, 0),
      ]
    : ['', source, isMissing(result) ? 'not available' : 'not yet', '', '', '', '', '']
  return `| ${[title, ...cells].join(' | ')} |`
}

function toSection(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', `## ${title}`, '', ...lines]
}

function failedIn({ title }: Cell, { failed }: CellRun): readonly string[] {
  return failed.map(test => `- ${title}: ${escapeMarkdown(test)}`)
}

function skippedIn({ title }: Cell, { skipped }: CellRun): readonly string[] {
  return skipped.map(
    ({ why, tests }) =>
      `- ${title}: ${tests} ${tests === 1 ? 'test' : 'tests'}, because: ${escapeMarkdown(why)}`,
  )
}

/** Titles of tests have characters that Markdown would take for its own. */
function escapeMarkdown(text: string): string {
  return text.replaceAll(/[\\`*_<>[\]|]/g, character => `\\${character}`)
}

function isRun(result: CellResult | undefined): result is CellRun {
  return result !== undefined && 'passed' in result
}

function isMissing(result: CellResult | undefined): result is CellMissing {
  return result !== undefined && 'missing' in result
}
