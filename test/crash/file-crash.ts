// `node test/crash/file-crash.ts 200` kills a writing process so many times, and says what it found.
import { fileURLToPath } from 'node:url'
import { type Damage, fileDeadLetters } from '../../src/adapters/file/index.ts'
import type { Random } from '../../src/core/random.ts'
import { systemClock } from '../../src/ports/clock.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { withTempFolder } from '../support/folder.ts'
import { killAfter, start } from './child.ts'
import { type ProcessReport, readProcessReport, violations } from './process-report.ts'

const WRITER = fileURLToPath(new URL('./file-writer.ts', import.meta.url))
const MAX_LINES = 400

export interface CrashReport {
  readonly kills: number
  readonly acknowledged: number
  /** Pieces of damage that no kill explains. */
  readonly unexplained: readonly Damage[]
  readonly violations: readonly string[]
}

/** Kills the writer on one folder repeatedly, and checks after each kill that no data is missing. */
export async function crashFileStore(times: number, random: Random): Promise<CrashReport> {
  return await withTempFolder(async dir => {
    const found: string[] = []
    const unexplained: Damage[] = []
    const all: ProcessReport[] = []
    for (let kill = 0; kill < times; kill++) {
      const report = readProcessReport(await killAfter(start(WRITER, dir), Math.floor(random() * MAX_LINES)))
      all.push(report)
      found.push(...(await check(dir, [report], unexplained)))
    }
    found.push(...(await check(dir, all, unexplained)))
    const acknowledged = all.reduce((sum, { sent }) => sum + sent.size, 0)
    return { kills: times, acknowledged, unexplained, violations: found }
  })
}

async function check(
  dir: string,
  tellings: readonly ProcessReport[],
  unexplained: Damage[],
): Promise<string[]> {
  const store = fileDeadLetters({
    dir,
    // A line that a kill has cut short was never acknowledged.
    onDamage: damage => damage.kind !== 'torn' && unexplained.push(damage),
  })
  try {
    const found: string[] = []
    for (const report of tellings) found.push(...(await violations(report, id => store.get(id))))
    return found
  } finally {
    await store.close()
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [times = '200', seed = String(systemClock.now())] = process.argv.slice(2)
  const report = await crashFileStore(Number(times), seededRandom(Number(seed)))
  process.stdout.write(
    `${report.kills} kills, ${report.acknowledged} letters acknowledged, ${report.violations.length} violations (seed ${seed})\n`,
  )
  for (const line of [...report.violations, ...report.unexplained.map(each => JSON.stringify(each))])
    process.stdout.write(`${line}\n`)
  if (report.violations.length + report.unexplained.length > 0) process.exitCode = 1
}
