// `node test/crash/replay-crash.ts 10000` replays so many letters in processes of their own, kills the runner midway, lets
// another take over, and says what has become of them.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openSqlite, type SqliteStore } from '../../src/adapters/sqlite/index.ts'
import { createIdSource } from '../../src/core/event/uuid.ts'
import { systemClock, systemRandom } from '../../src/ports/clock.ts'
import type { Replay, ReplayCounts } from '../../src/ports/replays.ts'
import { startReplay } from '../../src/replay/control.ts'
import { planReplay } from '../../src/replay/plan.ts'
import { withTempFolder } from '../support/folder.ts'
import { idsAfter, outputOf, start } from './child.ts'
import { publish } from './sqlite-crash.ts'

const CONSUMER = fileURLToPath(new URL('./replay-consumer.ts', import.meta.url))
const RUNNER = fileURLToPath(new URL('./replay-runner.ts', import.meta.url))
/** More than a runner's lease. */
const AHEAD_MS = 60_000

export interface ReplayReport {
  readonly counts: ReplayCounts
  readonly state: Replay['state']
  /** Ids in the order in which they were handled, and how many had been when the runner was killed. */
  readonly handled: readonly string[]
  readonly handledAtKill: number
  readonly published: ReadonlySet<string>
}

/** Every event becomes a dead letter; then the handler is fixed and the letters are replayed. */
export function crashReplaying(count: number): Promise<ReplayReport> {
  return withTempFolder(async dir => {
    const path = join(dir, 'test.db')
    const published = await dieAll(path, count)
    const id = await planAndStart(path, ['rest'])
    const consumer = start(CONSUMER, path, 'mended')
    const runner = start(RUNNER, path, id)
    let handledAtKill = 0
    const consumed = outputOf(consumer, output => {
      const handled = idsAfter('handled', output.split('\n').slice(0, -1)).length
      if (handledAtKill > 0 || handled < count / 2) return
      handledAtKill = handled
      runner.kill('SIGKILL')
    })
    await outputOf(runner)
    await outputOf(start(RUNNER, path, id, String(AHEAD_MS)))
    consumer.kill('SIGTERM')
    const handled = idsAfter('handled', (await consumed).split('\n'))
    return { ...(await whatBecameOf(path, id)), handled, handledAtKill, published }
  })
}

/** The handler is as broken as before. */
export function replayOnBroken(count: number): Promise<ReplayReport> {
  return withTempFolder(async dir => {
    const path = join(dir, 'test.db')
    const published = await dieAll(path, count)
    const id = await planAndStart(path, [1, 10, 100, 'rest'])
    const consumer = start(CONSUMER, path, 'broken')
    await outputOf(start(RUNNER, path, id))
    const ended = outputOf(consumer)
    consumer.kill('SIGTERM')
    await ended
    return { ...(await whatBecameOf(path, id)), handled: [], handledAtKill: 0, published }
  })
}

async function dieAll(path: string, count: number): Promise<ReadonlySet<string>> {
  const consumer = start(CONSUMER, path, 'broken')
  const ended = outputOf(consumer)
  const published = new Set(await publish(path, count))
  await onStore(path, async store => {
    for (let dead = 0; dead < count; ) {
      await new Promise<void>(resolve => systemClock.schedule(20, resolve))
      dead = (await store.deadLetters.stats({ state: 'dead' })).count
    }
  })
  consumer.kill('SIGTERM')
  await ended
  return published
}

function planAndStart(path: string, stages: Replay['stages']): Promise<string> {
  return onStore(path, async store => {
    const environment = { clock: systemClock, newId: createIdSource(systemRandom) }
    const asked = { reason: 'mended', by: 'ann', filter: { channel: 'orders' }, stages, perSecond: 100_000 }
    const { id } = await planReplay(store, asked, environment)
    await startReplay(store, id, { by: 'ann', clock: systemClock })
    return id
  })
}

function whatBecameOf(path: string, id: string): Promise<Pick<ReplayReport, 'counts' | 'state'>> {
  return onStore(path, async ({ replays }) => {
    const replay = await replays.get(id)
    return { counts: await replays.counts(id), state: replay!.state }
  })
}

async function onStore<T>(path: string, work: (store: SqliteStore) => Promise<T>): Promise<T> {
  const store = openSqlite({ path })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const count = Number(process.argv[2] ?? 10_000)
  for (const [name, run] of Object.entries({ crashReplaying, replayOnBroken })) {
    const { counts, state, handled, handledAtKill } = await run(count)
    const twice = handled.length - new Set(handled).size
    process.stdout.write(
      `${name}: ${state}, ${JSON.stringify(counts)}, killed after ${handledAtKill}, handled ${handled.length}, of those ${twice} twice\n`,
    )
  }
}
