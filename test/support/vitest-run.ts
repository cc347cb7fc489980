import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { ROOT } from './source.ts'

const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs')

/** The part of vitest's JSON report that is used here. */
export interface VitestReport {
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

export interface FailedTest {
  readonly file: string
  readonly name: string
  readonly message: string
}

export interface VitestRun {
  /** Undefined if the run ended before it wrote one. */
  readonly report: VitestReport | undefined
  readonly output: string
}

/** Runs vitest in a process of its own, so that a crash or a leak ends with it. */
export async function runVitest(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  node = process.execPath,
): Promise<VitestRun> {
  const folder = await mkdtemp(join(tmpdir(), 'lazaret-vitest-'))
  const outputFile = join(folder, 'report.json')
  try {
    const reporting = ['--reporter=json', `--outputFile=${outputFile}`]
    const output = await collectOutput(node, [VITEST, 'run', ...words, ...reporting], env)
    const report = await readFile(outputFile, 'utf8').then(JSON.parse, () => undefined)
    return { report, output }
  } finally {
    await rm(folder, { recursive: true })
  }
}

export function failuresOf(report: VitestReport): FailedTest[] {
  return report.testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(ROOT, name)
    const failed = assertionResults
      .filter(result => result.status === 'failed')
      .map(({ fullName, failureMessages }) => ({ file, name: fullName, message: failureMessages.join('\n') }))
    if (failed.length === 0 && status === 'failed') return [{ file, name: 'the file did not run', message }]
    return failed
  })
}

function collectOutput(node: string, words: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(node, words, {
      cwd: ROOT,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', part => (output += part))
    child.once('error', reject)
    child.once('close', () => resolve(output))
  })
}
