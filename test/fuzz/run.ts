import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { systemClock } from '../../src/ports/clock.ts'
import { sourceFiles } from '../support/source.ts'
import { type FailedTest, failuresOf, runVitest } from '../support/vitest-run.ts'

const USAGE =
  'usage: npm run fuzz -- --minutes N [FILE…] draws new cases until the time is over; npm run fuzz -- --seed X [FILE…] repeats a round'
const MINUTE_MS = 60_000
/** The largest seed that fast-check keeps as it is. */
const MAX_SEED = 0x7fff_ffff

const print = (line: string) => process.stdout.write(`${line}\n`)

try {
  const { values, positionals } = parseArgs({
    options: { minutes: { type: 'string' }, seed: { type: 'string' } },
    allowPositionals: true,
  })
  const files = propertyTests(positionals)
  if (values.seed !== undefined) await repeat(toNumber('--seed', values.seed), files)
  else await fuzz(toNumber('--minutes', values.minutes ?? '10'), files)
} catch (error) {
  process.stderr.write(`fuzz: ${error instanceof Error ? error.message : error}; ${USAGE}\n`)
  process.exitCode = 2
}

function toNumber(name: string, text: string): number {
  const number = Number(text)
  if (text === '' || !(number >= 0)) throw new Error(`${name} takes a number of at least 0, got '${text}'`)
  return number
}

/** The test files that use fast-check; with words, those whose path contains one of them. */
function propertyTests(words: readonly string[]): readonly string[] {
  const files = ['src', 'test', 'console/src']
    .flatMap(folder => sourceFiles(folder))
    .filter(({ path, text }) => path.endsWith('.test.ts') && text.includes("from 'fast-check'"))
    .map(({ path }) => path)
    .filter(path => words.length === 0 || words.some(word => path.includes(word)))
  if (files.length === 0) throw new Error(`no property test has ${words.join(' or ')} in its path`)
  return files
}

async function fuzz(minutes: number, files: readonly string[]): Promise<void> {
  const startedAt = systemClock.now()
  let rounds = 0
  let failures = 0
  do {
    const seed = randomInt(MAX_SEED)
    const { tests, failed } = await runRound(seed, files)
    rounds++
    failures += failed.length
    print(`round ${rounds}, seed ${seed}: ${tests} tests, ${failed.length} failed`)
    for (const test of failed) tell(test, seed)
  } while (systemClock.now() - startedAt < minutes * MINUTE_MS)
  print(`${rounds} rounds of ${files.length} files, ${failures} failures`)
  if (failures > 0) process.exitCode = 1
}

async function repeat(seed: number, files: readonly string[]): Promise<void> {
  const { tests, failed } = await runRound(seed, files)
  for (const test of failed) tell(test, seed)
  print(`seed ${seed}: ${tests} tests, ${failed.length} failed`)
  if (failed.length > 0) process.exitCode = 1
}

function tell({ file, name, message }: FailedTest, seed: number): void {
  print(`  ${file}: ${name}`)
  print(message.replace(/^/gm, '    '))
  print(`    repeat it: npm run fuzz -- --seed ${seed} ${file}`)
}

async function runRound(
  seed: number,
  files: readonly string[],
): Promise<{ readonly tests: number; readonly failed: readonly FailedTest[] }> {
  const words = ['--config', 'test/fuzz/vitest.config.ts', ...files]
  const { report, output } = await runVitest(words, { FUZZ_SEED: String(seed) })
  if (report === undefined)
    return { tests: 0, failed: [{ file: '', name: 'the run wrote no report', message: output }] }
  return { tests: report.numTotalTests, failed: failuresOf(report) }
}
