import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { findPostgres } from '../../../test/services/postgres.ts'
import { findRabbitmq } from '../../../test/services/rabbitmq.ts'
import { cliWorld } from '../../../test/support/cli.ts'
import { withTempFolder } from '../../../test/support/folder.ts'
import { TestDatabase } from '../../../test/support/postgres.ts'
import { connectPostgres } from '../../adapters/postgres/index.ts'
import { rabbitmq } from '../../adapters/rabbitmq/index.ts'
import { openSqlite } from '../../adapters/sqlite/index.ts'
import type { Broker } from '../../ports/broker.ts'
import { systemClock } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'
import { createConsumer } from '../../runtime/consumer/consumer.ts'
import { createEvent } from '../../runtime/create-event.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'

const found = await findRabbitmq()
const foundPostgres = await findPostgres()
const server = found.found ? await found.start() : undefined
const postgres = found.found && foundPostgres.found ? await foundPostgres.start() : undefined
afterAll(async () => {
  await server?.close()
  await postgres?.close()
})

/** Replays a letter of RabbitMQ from the command line, from a store whose own broker has the same channel and handler. */
async function checkRoute(
  store: Store,
  storeUrl: string,
  cwd: string,
  section: 'brokers' | 'collectors',
): Promise<void> {
  const channel = uniqueName('orders')
  const handled: string[] = []
  const saved = Promise.withResolvers<void>()
  let isBroken = true
  const consume = (broker: Broker) =>
    createConsumer({
      broker,
      channel,
      deadLetters: store.deadLetters,
      retry: { attempts: 1 },
      breaker: 'off',
      leaveOpen: true,
      observer: { letterSaved: () => saved.resolve() },
      handle: async () => {
        if (isBroken) throw new Error('out of order')
        handled.push(broker.name)
      },
    })
  const own = consume(store.broker!)
  const broker = rabbitmq({ url: server!.url })
  const consumer = consume(broker)
  await own.start()
  await consumer.start()
  await broker.publish([createEvent({ channel, type: 'order.placed' })])
  await saved.promise
  isBroken = false
  const { lazaretWith } = cliWorld(cwd)
  const lazaret = (...argv: string[]) =>
    lazaretWith({ clock: systemClock }, 'replay', ...argv, '--store', storeUrl)
  const plan = ['plan', '--reason', 'fixed', '--channel', channel, '--json']
  const refused = await lazaret(...plan)
  expect(refused).toMatchObject({ code: 1, out: '' })
  expect(refused.err).toContain(
    "it came from broker 'rabbitmq', and no rabbitmq broker named 'rabbitmq' is configured",
  )
  const queues = section === 'collectors' ? `, queues: [${channel}.dlq]` : ''
  const config = `${section}: { rabbitmq: { url: "${server!.url}"${queues} } }\n`
  await writeFile(join(cwd, 'lazaret.yaml'), config)
  const { id } = (await lazaret(...plan)).json[0]
  const { code, json } = await lazaret('start', id, '--json')
  expect({ code, json }).toMatchObject({ code: 0, json: [{ state: 'finished', outcomes: { recovered: 1 } }] })
  expect(handled).toEqual(['rabbitmq'])
  expect((await store.deadLetters.stats({ channel })).byState).toEqual({ resolved: 1 })
  await consumer.close()
  await own.close()
  await broker.close()
}

describe.runIf(found.found)('letters of RabbitMQ in another store', () => {
  it.each(['brokers', 'collectors'] as const)(
    'B18: go back to RabbitMQ by %s and not to the broker of SQLite',
    section =>
      withTempFolder(async cwd => {
        const store = openSqlite({ path: join(cwd, 'lazaret.db') })
        await checkRoute(store, 'sqlite:./lazaret.db', cwd, section)
        await store.close()
      }),
  )

  it.runIf(foundPostgres.found)('B18: go back to RabbitMQ and not to the outbox of Postgres', () =>
    withTempFolder(async cwd => {
      const database = await TestDatabase.migrated(postgres!)
      const store = await connectPostgres(database.url)
      await checkRoute(store, database.url, cwd, 'brokers')
      await store.close()
      await database.close()
    }),
  )
})
