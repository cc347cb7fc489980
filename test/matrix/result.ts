import { failuresOf, type VitestReport } from '../support/vitest-run.ts'
import type { LeftOut } from './cell.ts'

/** What a run of a cell found. */
export type CellResult = CellRun | CellMissing

export interface CellRun {
  readonly date: string
  readonly version: string
  /** The Node that ran the tests. */
  readonly node: string
  readonly seconds: number
  readonly files: number
  readonly passed: number
  readonly failed: readonly string[]
  readonly skipped: readonly SkippedTests[]
}

export interface SkippedTests {
  readonly why: string
  readonly tests: number
}

/** The server is not available, so no test ran. */
export interface CellMissing {
  readonly date: string
  readonly missing: string
}

const REASON = /\(skipped: (.*?)\)/
/** Files that skip tests without a reason in the name have it in their source. */
const NO_REASON = 'the name of the test gives no reason'

export function countTests(
  report: VitestReport,
  leftOut?: LeftOut,
): Pick<CellRun, 'files' | 'passed' | 'failed' | 'skipped'> {
  const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults)
  const skipped = tests.filter(({ status }) => status !== 'passed' && status !== 'failed')
  const reasonOf = (name: string) =>
    leftOut?.tests.some(left => name.includes(left)) ? leftOut.because : REASON.exec(name)?.[1]
  const byReason = Map.groupBy(skipped, ({ fullName }) => reasonOf(fullName) ?? NO_REASON)
  return {
    files: report.testResults.length,
    passed: tests.filter(({ status }) => status === 'passed').length,
    failed: failuresOf(report).map(({ file, name }) => `${file}: ${name}`),
    skipped: Array.from(byReason, ([why, { length }]) => ({ why, tests: length })),
  }
}
