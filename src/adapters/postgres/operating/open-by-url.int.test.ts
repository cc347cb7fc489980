import { afterAll, describe, expect, it } from 'vitest'
import { findPostgres } from '../../../../test/services/postgres.ts'
import { timing } from '../../../../test/support/outbox-world.ts'
import { TestDatabase } from '../../../../test/support/postgres.ts'
import { outputWithout } from '../../../../test/support/without-package.ts'
import { createConsumer } from '../../../runtime/consumer/consumer.ts'
import { createFactory } from '../../../testing/factories.ts'
import { openPostgres } from '../index.ts'

const make = createFactory()

describe('S1: openPostgres({ url }) refuses', () => {
  it.each([
    ['neither', {}, 'openPostgres.url: got neither url nor pool; give exactly one'],
    [
      'both',
      { url: 'postgres://localhost/shop', pool: { query: fail, connect: fail } },
      'openPostgres.url: got url and pool; give exactly one',
    ],
    ['another URL', { url: 'mysql://ann:hunter2@db/shop' }, "give a URL such as 'postgres://"],
    ['a wrong option', { url: 'postgres://localhost/shop', leasMs: 5 }, "did you mean 'leaseMs'?"],
  ])('%s', (_, options, message) => {
    expect(() => openPostgres(options)).toThrow(message)
    expect(() => openPostgres(options)).not.toThrow('hunter2')
  })

  it('the first use when pg is not installed, with how to install it', async () => {
    const output = await outputWithout(
      'pg',
      `const { openPostgres } = await import('./src/adapters/postgres/index.ts')
      const store = openPostgres({ url: 'postgres://localhost/shop' })
      await store.ready().catch(error => console.log(error.code, error.message))
      await store.close()`,
    )
    expect(output).toBe(
      'LAZARET_CLIENT_MISSING pg: cannot be loaded; install it beside lazaret: npm install pg',
    )
  })

  it('no unused store: it closes without a connection', async () => {
    await openPostgres({ url: 'postgres://ann:hunter2@nowhere.invalid/shop' }).close()
  })
})

const found = await findPostgres()
const server = found.found ? await found.start() : undefined
const database = server && (await TestDatabase.migrated(server))
afterAll(async () => {
  await database?.close()
  await server?.close()
})

describe.runIf(found.found)('openPostgres({ url }) on a server', () => {
  it('S1: consumes with a pool of its own, tells no password, and closes the pool', async () => {
    const store = openPostgres({ url: database!.url })
    await store.ready()
    expect(store.url).not.toContain('password')
    const { promise: handled, resolve } = Promise.withResolvers<string>()
    const consumer = createConsumer({
      broker: store.broker,
      deadLetters: store.deadLetters,
      channel: 'orders',
      leaveOpen: true,
      handle: event => resolve(event.id),
    })
    await consumer.start()
    const event = make.event({ channel: 'orders' })
    await store.broker.publish([event])
    expect(await handled).toBe(event.id)
    await consumer.close()
    await store.close()
    await expect(store.deadLetters.stats()).rejects.toThrow()
    const connections = `select from pg_stat_activity where application_name = 'lazaret' and datname = current_database()`
    await timing.eventually(
      async () => (await database!.rows(connections)).length === 0,
      'the store has closed its connections',
    )
  })
})

function fail(): never {
  throw new Error('no query is expected')
}
