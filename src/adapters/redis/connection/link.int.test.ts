import { afterAll, describe, expect, it } from 'vitest'
import { findRedis } from '../../../../test/services/redis.ts'
import { resolveConnection } from '../../../../test/support/redis-connection.ts'
import { TestTiming } from '../../../testing/conformance/harness.ts'
import { RedisConnection } from './connection.ts'

const found = await findRedis()
const isOurs = found.found && found.isPrivate
const server = isOurs ? await found.start() : undefined
afterAll(async () => await server?.close())
const why = found.found ? ' (skipped: the server is not ours to stop)' : ` (skipped: ${found.why})`
const timing = new TestTiming({})

describe.runIf(isOurs)(`a link to Redis${isOurs ? '' : why}`, () => {
  it('E11: a server that stood still gets one connection in the place of the old one, and keeps none that was closed', async () => {
    const node = server!.node!
    const settings = resolveConnection('test', { url: server!.url, timeoutMs: 400 })
    const connection = RedisConnection.of(settings, 'link')
    const count = async () =>
      String(await node.command('CLIENT', 'LIST')).split('name=redis-link ').length - 1
    await connection.send('asking', ['PING'])
    node.freeze()
    await expect(connection.send('asking', ['PING'])).rejects.toMatchObject({ kind: 'silent' })
    await timing.pass(300)
    node.thaw()
    await connection.send('asking', ['PING'])
    expect(await count()).toBe(1)
    await connection.close()
    await timing.eventually(async () => (await count()) === 0, 'no connection is left')
  })
})
