import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createClient } from 'redis'
import { openPostgres } from '../../src/adapters/postgres/index.ts'
import { openRedis } from '../../src/adapters/redis/index.ts'
import { openSqlite } from '../../src/adapters/sqlite/index.ts'
import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'
import { delay, systemClock } from '../../src/ports/clock.ts'
import type { Store } from '../../src/ports/store.ts'
import { findRedis } from '../../test/services/redis.ts'
import { makeLetters } from '../harness/letters.ts'
import { milliseconds, sendAll, withTempFolder } from '../harness/load.ts'
import { type Row, row } from '../harness/result.ts'
import { startMembers } from './member-process.ts'
import { startPostgres } from './postgres.ts'
import { cpuSeconds } from './process-cost.ts'

/** More than a process keeps, so that no limit of the server is in the way. */
const CLIENTS_EACH = 3
const DATABASE_BYTES = 'select pg_database_size(current_database()) as bytes'

/** How large and how long the measurement is. */
export interface OtherStoresSize {
  readonly redisInstances: number
  /** All processes of a SQLite file run on one machine. */
  readonly sqliteInstances: number
  readonly windowMs: number
  readonly letters: number
}

/** The cost of processes in Redis and SQLite, and the bytes of a letter in each store. */
export async function otherStoreRows(size: OtherStoresSize): Promise<{ rows: Row[]; bars: [] }> {
  const letters = makeLetters(size.letters)
  return {
    rows: [
      ...(await redisRows(size, letters)),
      ...(await sqliteRows(size, letters)),
      await postgresRow(letters),
    ],
    bars: [],
  }
}

async function redisRows({ redisInstances, windowMs }: OtherStoresSize, letters: readonly DeadLetter[]) {
  const found = await findRedis()
  if (!found.found || !found.isPrivate) throw new Error('bench: it needs a Redis of its own, to empty it')
  const server = await found.start({ maxclients: String(redisInstances * CLIENTS_EACH + 100) })
  const client = createClient({ url: server.url })
  await client.connect()
  const info = async () =>
    new Map((await client.info()).split('\r\n').map(line => line.split(':') as [string, string]))
  const number = async (name: string) => Number((await info()).get(name))
  try {
    const pid = await number('process_id')
    const empty = await number('used_memory_dataset')
    const members = await startMembers(server.url, redisInstances)
    const filled = await number('used_memory_dataset')
    const before = {
      commands: await number('total_commands_processed'),
      cpu: cpuSeconds(pid),
      members: cpuSeconds(members.pid),
    }
    const tookMs = await milliseconds(() => delay(systemClock, windowMs))
    const perSecond = (now: number, then: number) => ((now - then) / tookMs) * 1_000
    const named = (name: string) => `Redis, ${redisInstances} processes: ${name}`
    const rows = [
      row(named('commands'), 'commands/s', [
        perSecond(await number('total_commands_processed'), before.commands),
      ]),
      row(named('CPU of Redis'), 'ms/s', [1_000 * perSecond(cpuSeconds(pid), before.cpu)]),
      row(named('CPU of a process for its presence'), 'ms/s', [
        (1_000 * perSecond(cpuSeconds(members.pid), before.members)) / redisInstances,
      ]),
      row(named('memory of a report'), 'kB', [(filled - empty) / redisInstances / 1_000]),
      row(named('connections'), 'connections', [(await number('connected_clients')) - 1]),
    ]
    await members.stop()
    await client.flushAll()
    const emptied = await number('used_memory_dataset')
    await send(openRedis({ url: server.url }), letters)
    const bytes = ((await number('used_memory_dataset')) - emptied) / letters.length
    return [...rows, row('Redis: memory of a letter of 1 kB', 'bytes', [bytes])]
  } finally {
    client.destroy()
    await server.close()
  }
}

async function sqliteRows({ sqliteInstances, windowMs }: OtherStoresSize, letters: readonly DeadLetter[]) {
  return await withTempFolder(async dir => {
    const members = await startMembers(join(dir, 'fleet.db'), sqliteInstances)
    const before = cpuSeconds(members.pid)
    const tookMs = await milliseconds(() => delay(systemClock, windowMs))
    const used = (1_000 * 1_000 * (cpuSeconds(members.pid) - before)) / tookMs / sqliteInstances
    await members.stop()
    const path = join(dir, 'letters.db')
    await send(openSqlite({ path }), letters)
    return [
      row(`SQLite, ${sqliteInstances} processes: CPU of a process for its presence`, 'ms/s', [used]),
      row('SQLite: file for a letter of 1 kB', 'bytes', [(await stat(path)).size / letters.length]),
    ]
  })
}

async function postgresRow(letters: readonly DeadLetter[]): Promise<Row> {
  const postgres = await startPostgres(100)
  try {
    const size = async () => (await postgres.numbers(DATABASE_BYTES))['bytes']!
    const before = await size()
    await send(openPostgres({ url: postgres.url }), letters)
    return row('Postgres: tables and indexes for a letter of 1 kB', 'bytes', [
      ((await size()) - before) / letters.length,
    ])
  } finally {
    await postgres.close()
  }
}

async function send(store: Store, letters: readonly DeadLetter[]): Promise<void> {
  await sendAll(letters, letter => store.deadLetters.send(letter))
  await store.close()
}
