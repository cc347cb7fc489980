// `node test/crash/sqlite-crash.ts write 200` kills a process that saves letters so many times, `… consume 200` one that
// consumes, and each says what it found.
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { openSqlite } from '../../src/adapters/sqlite/index.ts'
import type { Random } from '../../src/core/random.ts'
import { systemClock, systemRandom } from '../../src/ports/clock.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { withTempFolder } from '../support/folder.ts'
import { type Child, idsAfter, killAfter, outputOf, start } from './child.ts'
import { type ProcessReport, readProcessReport, violations } from './process-report.ts'

const WRITER = fileURLToPath(new URL('./sqlite-writer.ts', import.meta.url))
const CONSUMER = fileURLToPath(new URL('./sqlite-consumer.ts', import.meta.url))
const MAX_LINES = 400
const PUBLISHED_PER_KILL = 60
/** Each event is handled and settled, so that at least so many lines are said. */
const LINES_PER_KILL = PUBLISHED_PER_KILL * 2

export interface CrashReport {
  readonly kills: number
  /** Letters or events. */
  readonly acknowledged: number
  readonly violations: readonly string[]
}

/** Kills the writer on one file repeatedly, and checks after each kill that all data is there and complete. */
export async function crashWriting(times: number, random: Random): Promise<CrashReport> {
  return await withTempFolder(async dir => {
    const path = join(dir, 'test.db')
    const found: string[] = []
    const all: ProcessReport[] = []
    for (let kill = 0; kill < times; kill++) {
      const child = start(WRITER, path)
      const report = readProcessReport(await killAfter(child, Math.floor(random() * MAX_LINES)))
      all.push(report)
      found.push(...(await checkLetters(path, [report])))
    }
    found.push(...(await checkLetters(path, all)))
    const acknowledged = all.reduce((sum, { sent }) => sum + sent.size, 0)
    return { kills: times, acknowledged, violations: found }
  })
}

/** Kills the consumer again and again while events come in; every event is handled, and none after its end. */
export async function crashConsuming(times: number, random: Random): Promise<CrashReport> {
  return await withTempFolder(async dir => {
    const path = join(dir, 'test.db')
    const found: string[] = []
    const published = new Set<string>()
    let lines: string[] = []
    for (let kill = 0; kill < times; kill++) {
      for (const id of await publish(path, PUBLISHED_PER_KILL)) published.add(id)
      const output = await killAfter(start(CONSUMER, path), Math.floor(random() * LINES_PER_KILL))
      lines = lines.concat(output.split('\n').slice(0, -1))
      found.push(...damage(path))
    }
    const child = start(CONSUMER, path)
    const settled = new Set(idsAfter('settled', lines))
    const output = await outputOf(child, soFar => {
      for (const id of idsAfter('settled', soFar.split('\n').slice(0, -1))) settled.add(id)
      // What was settled just before a kill may not have been said any more; the database knows.
      if (settled.size + unsaid(path, published.size, settled.size) >= published.size) child.kill('SIGTERM')
    })
    lines = lines.concat(output.split('\n'))
    found.push(...lostOrRepeated(published, lines))
    return { kills: times, acknowledged: published.size, violations: found }
  })
}

/** Events that are done according to the database and were not said to be. */
function unsaid(path: string, published: number, settled: number): number {
  const db = new DatabaseSync(path, { timeout: 5_000 })
  try {
    const { depth } = db.prepare('select sum(depth) as depth from handlers').get() as { depth: number }
    return published - depth - settled
  } finally {
    db.close()
  }
}

export function lostOrRepeated(published: ReadonlySet<string>, lines: readonly string[]): string[] {
  const found: string[] = []
  const handled = new Set(idsAfter('handled', lines))
  for (const id of published) if (!handled.has(id)) found.push(`${id} was published and never handled`)
  const over = new Set<string>()
  for (const line of lines) {
    const [what, id = ''] = line.split(' ')
    if (what === 'handled' && over.has(id)) found.push(`${id} was acknowledged and handled again`)
    if (what === 'settled') over.add(id)
    if (what === 'unsettled') found.push(`a settlement failed: ${line}`)
  }
  return found
}

export async function publish(path: string, count: number): Promise<string[]> {
  const store = openSqlite({ path })
  const events = createFactory({ clock: systemClock, random: systemRandom }).events(count)
  await store.broker.publish(events)
  await store.close()
  return events.map(({ id }) => id)
}

async function checkLetters(path: string, tellings: readonly ProcessReport[]): Promise<string[]> {
  const store = openSqlite({ path })
  try {
    const found = damage(path)
    for (const report of tellings) found.push(...(await violations(report, id => store.deadLetters.get(id))))
    return found
  } finally {
    await store.close()
  }
}

/** What is half there: SQLite's own check, and whether everything that is counted is there as often as it is counted. */
function damage(path: string): string[] {
  const db = new DatabaseSync(path, { timeout: 5_000 })
  try {
    const { integrity_check: integrity } = db.prepare('pragma integrity_check').get() as Record<
      string,
      string
    >
    const counts = db
      .prepare(
        `select (select count(*) from letters) as letters, (select coalesce(sum(count), 0) from facets) as facets,
         (select coalesce(sum(count), 0) from groups) as groups, (select count(*) from events) as events,
         (select coalesce(sum(depth), 0) from handlers) as depth`,
      )
      .get() as Record<string, number>
    const isCounted = counts['letters'] === counts['facets'] && counts['letters'] === counts['groups']
    return [
      ...(integrity === 'ok' ? [] : [`the file is damaged: ${integrity}`]),
      ...(isCounted && counts['events'] === counts['depth'] ? [] : [`miscounted: ${JSON.stringify(counts)}`]),
    ]
  } finally {
    db.close()
  }
}

export function startConsumer(path: string, leaseMs = 30_000): Child {
  return start(CONSUMER, path, String(leaseMs))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [what = 'write', times = '200', seed = String(systemClock.now())] = process.argv.slice(2)
  const crash = what === 'consume' ? crashConsuming : crashWriting
  const report = await crash(Number(times), seededRandom(Number(seed)))
  process.stdout.write(
    `${what}: ${report.kills} kills, ${report.acknowledged} acknowledged, ${report.violations.length} violations (seed ${seed})\n`,
  )
  for (const line of report.violations.slice(0, 20)) process.stdout.write(`${line}\n`)
  if (report.violations.length > 0) process.exitCode = 1
}
