import { Pool } from 'pg'
import { afterAll, expect, it } from 'vitest'
import { postgresDeadLetters, postgresOutbox } from '../../src/adapters/postgres/index.ts'
import { TestTiming, uniqueName } from '../../src/testing/conformance/harness.ts'
import { ChaosProxy } from '../chaos/proxy.ts'
import { Traffic } from '../chaos/traffic.ts'
import { findPostgres } from '../services/postgres.ts'
import { TestDatabase } from '../support/postgres.ts'
import { topology } from './topology.ts'

const found = await findPostgres()
const pools: Pool[] = []
afterAll(() => Promise.all(pools.map(pool => pool.end())))

topology('a Postgres primary with a synchronous standby', found, () => {
  it('E21: when the primary is killed and the standby is promoted, no event is lost', async () => {
    if (!found.found) return
    const server = await found.start()
    const primary = server.node!
    const database = await TestDatabase.migrated(server)
    const { pathname } = new URL(database.url)
    await database.pool.end()
    await primary.stop()
    const standby = await primary.createStandby()
    await primary.start()
    await standby.start()
    await primary.command(`alter system set synchronous_standby_names = '*'`)
    await primary.command('select pg_reload_conf()')
    const isFollowing = async () =>
      (await primary.command('select sync_state from pg_stat_replication'))[0]?.['sync_state'] === 'sync'
    await new TestTiming({}).eventually(isFollowing, 'the primary waits for its standby')

    const proxy = await ChaosProxy.to(primary.url)
    const address = new URL(proxy.through(primary.url))
    address.pathname = pathname
    const openPool = () => {
      const pool = new Pool({ connectionString: address.href, max: 10, connectionTimeoutMillis: 5_000 })
      pool.on('error', () => {})
      pool.on('connect', client => client.on('error', () => {}))
      pools.push(pool)
      return pool
    }
    const traffic = new Traffic(uniqueName('standby'), () => postgresOutbox({ pool: openPool() }))
    await traffic.start()
    const publishing = traffic.publish(2_000)
    await traffic.until(() => traffic.handled.size > 400, 'traffic')

    await primary.kill()
    await standby.command('select pg_promote()')
    proxy.lead(standby.url)
    proxy.cut()
    await publishing
    await traffic.until(() => traffic.missing === 0, 'handling them all on the promoted standby')
    await traffic.close()

    const { letters } = await postgresDeadLetters({ pool: openPool() }).list({ channel: traffic.channel })
    expect(letters).toEqual([])
    await Promise.all(pools.splice(0).map(pool => pool.end()))
    await proxy.close()
    await standby.remove()
    await server.close()
  })
})
