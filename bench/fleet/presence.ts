import { join } from 'node:path'
import { Pool } from 'pg'
import { memoryBroker, memoryDeadLetters, memorySink } from '../../src/adapters/memory/index.ts'
import { openPostgres } from '../../src/adapters/postgres/index.ts'
import { openSqlite } from '../../src/adapters/sqlite/index.ts'
import {
  type Broker,
  createConsumer,
  createDispatcher,
  createEvent,
  type FleetStore,
  joinFleet,
  type LazaretEvent,
} from '../../src/index.ts'
import { withTempFolder } from '../harness/load.ts'
import { atLeast, type Bar, type Row, row } from '../harness/result.ts'
import { startPostgres } from './postgres.ts'
import { cpuSeconds } from './process-cost.ts'

const CHANNEL = 'orders'
const BATCH = 1_000
const CONCURRENCY = 1_000
const REPORT_EVERY_MS = 500
/** The share of the throughput that must remain with presence. */
const PRESENCE_ON_AT_LEAST = 0.98

/** How many rounds there are with presence and without it, and the events of each. */
export interface PresenceSize {
  readonly rounds: number
  readonly memoryEvents: number
  readonly postgresEvents: number
}

interface Setup {
  readonly name: string
  readonly broker: Broker
  readonly store: FleetStore
  readonly events: number
  /** The CPU time of servers, in seconds. */
  readonly serverCpu: () => number
}

interface Cost {
  readonly perSecond: number
  /** Microseconds of CPU time for an event, in the process and its servers. */
  readonly cpuUs: number
}

/** A consumer with and without presence, in turn. */
export async function presenceRows(size: PresenceSize): Promise<{ rows: Row[]; bars: Bar[] }> {
  const parts = [await onMemory(size), await onPostgres(size)]
  return { rows: parts.flatMap(({ rows }) => rows), bars: parts.flatMap(({ bars }) => bars) }
}

async function onMemory({ rounds, memoryEvents }: PresenceSize) {
  return await withTempFolder(async dir => {
    const store = openSqlite({ path: join(dir, 'fleet.db') })
    const broker = memoryBroker({ maxPerChannel: memoryEvents })
    const name = 'memory broker, presence in SQLite'
    const setup = { name, broker, store, events: memoryEvents, serverCpu: () => 0 }
    try {
      return await compare(setup, rounds)
    } finally {
      await store.close()
    }
  })
}

async function onPostgres({ rounds, postgresEvents }: PresenceSize) {
  const postgres = await startPostgres(100)
  const pool = new Pool({ connectionString: postgres.url, max: 10 })
  pool.on('error', () => {})
  try {
    const store = openPostgres({ pool, delivered: 'delete' })
    const name = 'Postgres, outbox and presence'
    const serverCpu = () => cpuSeconds(postgres.pid)
    const result = await compare(
      { name, broker: store.broker, store, events: postgresEvents, serverCpu },
      rounds,
    )
    await store.close()
    return result
  } finally {
    await pool.end()
    await postgres.close()
  }
}

/**
 * A round with presence joins before it is measured, and reports ten times as often as a service, because it takes less than
 * a second. So the difference is about ten times that of a service.
 */
async function compare(setup: Setup, rounds: number): Promise<{ rows: Row[]; bars: Bar[] }> {
  const { broker, store, events } = setup
  const deadLetters = memoryDeadLetters()
  let left = 0
  let all = Promise.withResolvers<void>()
  const open = (channel: string) =>
    createConsumer({
      ...{ broker, channel, name: 'bill', deadLetters, leaveOpen: true },
      ...{ concurrency: CONCURRENCY, prefetch: CONCURRENCY * 3 },
      handle: async () => {
        if (--left === 0) all.resolve()
      },
    })
  const consumer = open(CHANNEL)
  const consumers = [consumer, open('payments'), open('returns')]
  const dispatchers = [
    createDispatcher({ sinks: { crm: memorySink(), analytics: memorySink() }, deadLetters, leaveOpen: true }),
  ]
  await consumer.start()

  async function round(isOn: boolean, count: number): Promise<Cost> {
    const member = isOn
      ? joinFleet({ store, service: 'shop', consumers, dispatchers, reportEveryMs: REPORT_EVERY_MS })
      : undefined
    consumer.pause()
    for (let sent = 0; sent < count; sent += BATCH)
      await broker.publish(makeEvents(Math.min(BATCH, count - sent)))
    left = count
    all = Promise.withResolvers()
    const cpuBefore = process.cpuUsage()
    const serverBefore = setup.serverCpu()
    const startedAt = process.hrtime.bigint()
    consumer.resume()
    await all.promise
    const tookS = Number(process.hrtime.bigint() - startedAt) / 1e9
    const { user, system } = process.cpuUsage(cpuBefore)
    const serverS = setup.serverCpu() - serverBefore
    await member?.close()
    return { perSecond: count / tookS, cpuUs: (user + system + serverS * 1e6) / count }
  }

  await round(true, events)
  await round(false, events)
  const on: Cost[] = []
  const off: Cost[] = []
  const turns = [
    async () => on.push(await round(true, events)),
    async () => off.push(await round(false, events)),
  ]
  for (let number = 0; number < rounds; number++) {
    for (const turn of turns) await turn()
    turns.reverse()
  }
  for (const each of consumers) await each.close()
  for (const each of dispatchers) await each.close()
  return rowsOf(setup.name, on, off)
}

function rowsOf(name: string, on: readonly Cost[], off: readonly Cost[]): { rows: Row[]; bars: Bar[] } {
  const ratios = (measure: (cost: Cost) => number) =>
    on.map((cost, each) => measure(cost) / measure(off[each]!))
  const throughput = row(
    `${name}: throughput, on ÷ off`,
    'ratio',
    ratios(({ perSecond }) => perSecond),
  )
  // The cost without presence divided by the cost with it, so that both ratios read alike: 1 is free, less is a cost.
  const cpu = row(
    `${name}: events for a second of CPU, on ÷ off`,
    'ratio',
    ratios(({ cpuUs }) => 1 / cpuUs),
  )
  const of = (costs: readonly Cost[], measure: (cost: Cost) => number) => costs.map(measure)
  return {
    rows: [
      row(
        `${name}: presence off`,
        'events/s',
        of(off, cost => cost.perSecond),
      ),
      row(
        `${name}: presence on`,
        'events/s',
        of(on, cost => cost.perSecond),
      ),
      throughput,
      row(
        `${name}: CPU, presence off`,
        'µs/event',
        of(off, cost => cost.cpuUs),
      ),
      row(
        `${name}: CPU, presence on`,
        'µs/event',
        of(on, cost => cost.cpuUs),
      ),
      cpu,
    ],
    bars: [throughput, cpu].map(({ name, median }) => atLeast(name, median, PRESENCE_ON_AT_LEAST)),
  }
}

function makeEvents(count: number): LazaretEvent[] {
  return Array.from({ length: count }, (_, order) =>
    createEvent({ type: 'order.placed', channel: CHANNEL, payload: { order } }),
  )
}
