import { createClient } from 'redis'
import { afterAll, describe, expect, it } from 'vitest'
import { findRedis } from '../../../../test/services/redis.ts'
import { resolveConnection } from '../../../../test/support/redis-connection.ts'
import { yieldToEventLoop } from '../../../ports/clock.ts'
import { TestTiming } from '../../../testing/conformance/harness.ts'
import { RedisConnection } from './connection.ts'

const found = await findRedis()
const isOurs = found.found && found.isPrivate
const server = isOurs ? await found.start() : undefined
afterAll(async () => await server?.close())
const why = found.found ? ' (skipped: the server is not ours to stop)' : ` (skipped: ${found.why})`
const timing = new TestTiming({})
/** A connect is in flight for one or two of these; before and after them it has not begun, or is over. */
const TURNS = Array.from({ length: 12 }, (_, turns) => turns)

async function connectionsOf(name: string): Promise<number> {
  return String(await server!.node!.command('CLIENT', 'LIST')).split(`name=${name} `).length - 1
}

/** Closes it so many turns after it has begun to connect. */
async function closeEarly(connection: RedisConnection, turns: number): Promise<void> {
  const asked = connection.send('asking', ['PING']).catch(() => {})
  for (let turn = 0; turn < turns; turn++) await yieldToEventLoop()
  await connection.close()
  await asked
}

describe.runIf(isOurs)(`a link to Redis${isOurs ? '' : why}`, () => {
  it('E11: a server that stood still gets one connection in the place of the old one, and keeps none that was closed', async () => {
    const node = server!.node!
    const settings = resolveConnection('test', { url: server!.url, timeoutMs: 400 })
    const connection = RedisConnection.of(settings, 'link')
    const count = () => connectionsOf('redis-link')
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

  it('E11: whenever it is closed while it connects, no connection is left that would keep the process alive', async () => {
    const settings = resolveConnection('test', { url: server!.url })
    for (const turns of TURNS) await closeEarly(RedisConnection.of(settings, 'early'), turns)
    await timing.eventually(async () => (await connectionsOf('redis-early')) === 0, 'no connection is left')
  })

  it('E11: no duplicate of the given client is left either', async () => {
    const client = createClient({ url: server!.url, name: 'given' })
    await client.connect()
    const settings = resolveConnection('test', { client })
    for (const turns of TURNS) await closeEarly(RedisConnection.of(settings, 'x').another('early'), turns)
    await timing.eventually(async () => (await connectionsOf('given')) === 1, 'only the given client is left')
    client.destroy()
  })
})
