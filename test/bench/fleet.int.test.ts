import { expect, it } from 'vitest'
import { crowdRows } from '../../bench/fleet/crowd.ts'
import { otherStoreRows } from '../../bench/fleet/other-stores.ts'
import { presenceRows } from '../../bench/fleet/presence.ts'
import type { Row } from '../../bench/harness/result.ts'
import { findPostgres } from '../services/postgres.ts'
import { findRedis } from '../services/redis.ts'

const postgres = await findPostgres()
const isOwn = postgres.found && postgres.isPrivate
const redis = await findRedis()
const isOwnRedis = redis.found && redis.isPrivate
const INSTANCES = 3

/** The median of the row whose name ends like this. */
function figure(rows: readonly Row[], end: string): number {
  const found = rows.filter(({ name }) => name.endsWith(end))
  expect(found.map(({ name }) => name)).toHaveLength(1)
  return found[0]!.median
}

// The figures depend on the machine. These tests prove that each one is measured, so that `npm run bench fleet` works.

it.runIf(isOwn)(
  '"consumer throughput with presence on ÷ off ≥ 0.98" is measured on SQLite and on Postgres',
  async () => {
    const { rows, bars } = await presenceRows({ rounds: 2, memoryEvents: 2_000, postgresEvents: 1_000 })
    expect(rows.filter(({ median }) => !(median > 0))).toEqual([])
    for (const name of ['memory broker, presence in SQLite', 'Postgres, outbox and presence']) {
      expect(figure(rows, `${name}: throughput, on ÷ off`)).toBeLessThan(100)
      expect(figure(rows, `${name}: CPU, presence on`)).toBeGreaterThan(0.1)
    }
    expect(bars.map(bar => 'atLeast' in bar && bar.atLeast)).toEqual([0.98, 0.98, 0.98, 0.98])
  },
)

it.runIf(isOwn)(
  '"1,000 instances in one Postgres": the load of the store and the cost of the server are measured',
  async () => {
    const { rows, bars } = await crowdRows({
      instances: INSTANCES,
      windowMs: 0,
      rounds: 2,
      viewers: 1,
      hasBrowser: false,
    })
    expect(rows.filter(({ median }) => !(median >= 0))).toEqual([])
    expect(figure(rows, 'writes')).toBeGreaterThan(0)
    // Three consumers and two sinks.
    expect(figure(rows, 'one report')).toBeGreaterThan(800)
    expect(figure(rows, 'connections')).toBeGreaterThanOrEqual(INSTANCES * 2)
    expect(figure(rows, 'GET /fleet, answer')).toBeGreaterThan(INSTANCES * 0.8)
    expect(figure(rows, 'processes that did it')).toBe(INSTANCES)
    expect(bars.map(({ name }) => name)).toEqual([`${INSTANCES} processes: server, most resident memory, MB`])
  },
)

it.runIf(isOwn && isOwnRedis)(
  '"where each store ends": the cost of a process in Redis and SQLite, and of a letter in each store, is measured',
  async () => {
    const { rows } = await otherStoreRows({
      redisInstances: INSTANCES,
      sqliteInstances: 2,
      windowMs: 0,
      letters: 200,
    })
    expect(rows.filter(({ median }) => !(median >= 0))).toEqual([])
    const ofLetters = rows.filter(({ unit }) => unit === 'bytes')
    expect(ofLetters).toHaveLength(3)
    expect(ofLetters.filter(({ median }) => median < 1_000)).toEqual([])
  },
)
