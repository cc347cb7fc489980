// `npm run matrix`: runs the suites of each adapter on other servers, and writes docs/compatibility.md.
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../src/ports/clock.ts'
import { ROOT } from '../support/source.ts'
import { runVitest } from '../support/vitest-run.ts'
import { type Cell, chooseCells, GROUPS, namePatternWithout, type PreparedCell } from './cell.ts'
import { CELLS } from './cells.ts'
import { type MatrixResults, writePage } from './page.ts'
import { type CellResult, type CellRun, countTests } from './result.ts'

const USAGE = `usage: npm run matrix [-- ${GROUPS.join('|')}|CELL …]`
const RESULTS = join(ROOT, 'test/matrix/results.json')
const PAGE = join(ROOT, 'docs/compatibility.md')
const MOST_OUTPUT = 4_000

const print = (line: string) => process.stdout.write(`${line}\n`)

try {
  for (const cell of chooseCells(CELLS, process.argv.slice(2))) {
    print(`${cell.name}: preparing`)
    const result = await runCell(cell)
    keep(cell, result)
    if ('missing' in result) print(`${cell.name}: not available: ${result.missing}`)
    else tell(cell, result)
  }
} catch (error) {
  process.stderr.write(`matrix: ${error instanceof Error ? error.message : error}; ${USAGE}\n`)
  process.exitCode = 2
}

async function runCell(cell: Cell): Promise<CellResult> {
  const date = new Date(systemClock.now()).toISOString().slice(0, 10)
  const prepared = await cell.prepare()
  if (!prepared.found) return { date, missing: prepared.why }
  try {
    return { date, ...(await runSuites(cell, prepared)) }
  } finally {
    await prepared.close?.()
  }
}

async function runSuites(
  { name, suites, leftOut }: Cell,
  { version, env, node }: PreparedCell,
): Promise<Omit<CellRun, 'date'>> {
  const files = suites.flatMap(pattern => globSync(pattern, { cwd: ROOT })).sort()
  print(`${name}: ${version}, ${files.length} files`)
  const startedAt = systemClock.now()
  const words = leftOut === undefined ? files : [...files, '--testNamePattern', namePatternWithout(leftOut)]
  const { report, output } = await runVitest(words, env, node)
  if (report === undefined) throw new Error(`${name}: vitest wrote no report:\n${output.slice(-MOST_OUTPUT)}`)
  const seconds = Math.round((systemClock.now() - startedAt) / 1_000)
  for (const { message, assertionResults } of report.testResults)
    for (const text of [message, ...assertionResults.flatMap(({ failureMessages }) => failureMessages)])
      if (text) print(text)
  return {
    version,
    node: node === undefined ? process.version : `v${version}`,
    seconds,
    ...countTests(report, leftOut),
  }
}

function tell({ name }: Cell, { passed, failed, skipped, seconds }: CellRun): void {
  for (const test of failed) print(`${name}: FAILED ${test}`)
  const skips = skipped.reduce((sum, { tests }) => sum + tests, 0)
  print(`${name}: ${passed} passed, ${failed.length} failed, ${skips} skipped, ${seconds} s`)
  if (failed.length > 0) process.exitCode = 1
}

/** After each cell, so that a run that is ended keeps what it has found. */
function keep({ name }: Cell, result: CellResult): void {
  const kept: MatrixResults = { ...JSON.parse(readFileSync(RESULTS, 'utf8')), [name]: result }
  writeFileSync(RESULTS, `${JSON.stringify(kept, undefined, 2)}\n`)
  writeFileSync(PAGE, writePage(CELLS, kept))
}
