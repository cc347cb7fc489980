import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { TestTiming, uniqueName } from '../../src/testing/conformance/harness.ts'
import { killAfter } from '../crash/child.ts'
import { COMPILE_CACHE_ENV } from '../services/compile-cache.ts'
import { findPostgres } from '../services/postgres.ts'
import { findRabbitmq } from '../services/rabbitmq.ts'
import { TestDatabase } from '../support/postgres.ts'
import { RabbitmqAdmin } from '../support/rabbitmq.ts'
import { ROOT } from '../support/source.ts'

const ORDERS = 60
const LEASE_MS = '1000'

const services = [await findPostgres(), await findRabbitmq()] as const
const [foundPostgres, foundRabbitmq] = services
const missing = services.flatMap(each => (each.found ? [] : [each.why]))
const isThere = missing.length === 0
const postgres = isThere && foundPostgres.found ? await foundPostgres.start() : undefined
const rabbit = isThere && foundRabbitmq.found ? await foundRabbitmq.start() : undefined
const database = postgres && (await TestDatabase.empty(postgres))
const outside = rabbit && (await RabbitmqAdmin.at(rabbit.url))
const timing = new TestTiming({})

type Child = ChildProcessByStdio<null, Readable, null>
const running = new Set<Child>()
afterEach(() => {
  for (const child of running) child.kill('SIGKILL')
  running.clear()
})
afterAll(async () => {
  await outside?.close()
  await database?.close()
  await rabbit?.close()
  await postgres?.close()
})

/** One of its programs as a process of its own, as the README starts it. */
function run(script: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Child {
  const fromSource = join(ROOT, 'test/support/from-source.ts')
  const words = ['--no-warnings', '--import', fromSource, join(ROOT, 'examples/outbox', script), ...args]
  const child = spawn(process.execPath, words, {
    env: { ...COMPILE_CACHE_ENV, PATH: process.env['PATH'], DATABASE_URL: database!.url, LEASE_MS, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  running.add(child)
  return child
}

async function ended(child: Child): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return child.exitCode
}

async function stop(child: Child): Promise<number | null> {
  child.kill('SIGTERM')
  return await ended(child)
}

const delivered = async (handler: string) =>
  (
    await database!.rows<{ count: number }>(
      `select count(*)::int as count from lazaret.outbox where target = $1 and status = 'delivered'`,
      [handler],
    )
  )[0]!.count

describe.runIf(isThere)(`examples/outbox${isThere ? '' : ` (skipped: ${missing.join('; ')})`}`, () => {
  it('S8: every order is charged exactly once, although billing is killed repeatedly', async () => {
    expect(await ended(run('order.ts', [String(ORDERS)]))).toBe(0)
    for (const charges of [3, 9, 14]) await killAfter(run('bill.ts'), charges)
    const last = run('bill.ts')
    await timing.eventually(async () => (await delivered('billing')) === ORDERS, 'all are delivered')
    const [charges] = await database!.rows(
      'select count(*)::int as count, count(distinct order_id)::int as orders, sum(amount)::int as sum from charges',
    )
    const [orders] = await database!.rows<{ sum: number }>('select sum(total)::int as sum from orders')
    expect(charges).toEqual({ count: ORDERS, orders: ORDERS, sum: orders!.sum })
    expect(await stop(last)).toBe(0)
  })

  it('S8: the relay passes every event to RabbitMQ with its id, in order for each customer', async () => {
    const toChannel = uniqueName('shop.orders')
    const env = { RABBITMQ_URL: rabbit!.url, TO_CHANNEL: toChannel }
    const relays = [run('relay.ts', [], env), run('relay.ts', [], env)]
    await Promise.all(relays.map(relay => once(relay.stdout, 'data')))
    expect(await ended(run('order.ts', [String(ORDERS)]))).toBe(0)
    await timing.eventually(async () => (await delivered('to-rabbitmq')) === ORDERS, 'all are delivered')
    const rows = await database!.rows<{ id: string; key: string }>(
      `select event_id as id, key from lazaret.outbox where target = 'to-rabbitmq' order by seq`,
    )
    // At least once: one that a slow machine made come twice counts by its first arrival.
    const arrived = [...new Set((await outside!.peek(toChannel)).map(each => each.properties.messageId))]
    expect(new Set(arrived)).toEqual(new Set(rows.map(({ id }) => id)))
    for (const ofKey of Map.groupBy(rows, ({ key }) => key).values()) {
      const ids = ofKey.map(({ id }) => id)
      expect(arrived.filter(id => ids.includes(id!))).toEqual(ids)
    }
    expect(await Promise.all(relays.map(stop))).toEqual([0, 0])
  })
})
