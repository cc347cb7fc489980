import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { systemClock } from '../../src/ports/clock.ts'
import { ROOT, sourceFiles } from '../support/source.ts'

const USAGE =
  'usage: npm run fuzz -- --minutes N [FILE…] draws new cases until the time is over; npm run fuzz -- --seed X [FILE…] repeats a round'
const MINUTE_MS = 60_000
/** The largest seed that fast-check keeps as it is. */
const MAX_SEED = 0x7fff_ffff

interface FailedTest {
  readonly file: string
  readonly name: string
  readonly message: string
}

interface Report {
  readonly numTotalTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly message: string
    readonly status: string
    readonly assertionResults: readonly {
      readonly status: string
      readonly fullName: string
      readonly failureMessages: readonly string[]
    }[]
  }[]
}

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

/** One run of the files in a process of its own, so that a crash or a leak ends with its round. */
async function runRound(
  seed: number,
  files: readonly string[],
): Promise<{ readonly tests: number; readonly failed: readonly FailedTest[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'lazaret-fuzz-'))
  const outputFile = join(folder, 'report.json')
  try {
    const output = await vitest([...files, '--reporter=json', `--outputFile=${outputFile}`], seed)
    const report: Report | undefined = await readFile(outputFile, 'utf8').then(JSON.parse, () => undefined)
    if (report === undefined)
      return { tests: 0, failed: [{ file: '', name: 'the run wrote no report', message: output }] }
    return { tests: report.numTotalTests, failed: failuresOf(report) }
  } finally {
    await rm(folder, { recursive: true })
  }
}

function failuresOf(report: Report): FailedTest[] {
  return report.testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(ROOT, name)
    const failed = assertionResults
      .filter(result => result.status === 'failed')
      .map(({ fullName, failureMessages }) => ({ file, name: fullName, message: failureMessages.join('\n') }))
    if (failed.length === 0 && status === 'failed') return [{ file, name: 'the file did not run', message }]
    return failed
  })
}

function vitest(words: readonly string[], seed: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      [
        join(ROOT, 'node_modules/vitest/vitest.mjs'),
        'run',
        '--config',
        'test/fuzz/vitest.config.ts',
        ...words,
      ],
      { cwd: ROOT, env: { ...process.env, FUZZ_SEED: String(seed) }, stdio: ['ignore', 'pipe', 'pipe'] },
    )
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', part => (output += part))
    child.once('error', reject)
    child.once('close', () => resolve(output))
  })
}
