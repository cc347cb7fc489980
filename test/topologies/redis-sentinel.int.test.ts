import { createSentinel } from 'redis'
import { expect, it } from 'vitest'
import { redisDeadLetters, redisStreams } from '../../src/adapters/redis/index.ts'
import { TestTiming, uniqueName } from '../../src/testing/conformance/harness.ts'
import { Traffic } from '../chaos/traffic.ts'
import { findRedis } from '../services/redis.ts'
import { RedisNode } from '../services/redis-node.ts'
import { topology } from './topology.ts'

const found = await findRedis()
const timing = new TestTiming({ timeoutMs: 120_000 })

topology('Redis with two replicas and three Sentinels', found, () => {
  it('E21: a killed primary is followed by a replica, and no event that had reached it is lost', async () => {
    if (!found.found) return
    const servers = await Promise.all([found.start(), found.start(), found.start()])
    const [primary, ...replicas] = servers.map(({ node }) => node!)
    for (const replica of replicas) await replica.command('REPLICAOF', '127.0.0.1', String(primary!.port))
    const hasReplicas = async () => (await primary!.command('WAIT', '2', '1000')) === 2
    await timing.eventually(hasReplicas, 'both replicas follow')
    const sentinels = await Promise.all(
      [1, 2, 3].map(() => RedisNode.createSentinel(found.binary!, primary!)),
    )
    for (const sentinel of sentinels) await sentinel.start()
    const knowsAll = async () =>
      String(await sentinels[0]!.command('INFO', 'sentinel')).includes('slaves=2,sentinels=3')
    await timing.eventually(knowsAll, 'the Sentinels know each other and the replicas')

    const client = createSentinel({
      name: 'main',
      sentinelRootNodes: sentinels.map(({ port }) => ({ host: '127.0.0.1', port })),
    })
    client.on('error', () => {})
    await client.connect()
    const traffic = new Traffic(uniqueName('sentinel'), () => redisStreams({ client, maxPollMs: 200 }))
    await traffic.start()
    await traffic.publish(400)
    await timing.eventually(hasReplicas, 'the replicas have what was published')
    await primary!.kill()
    await traffic.publish(400)
    await traffic.until(() => traffic.missing === 0, 'handling them all on the new primary')
    await traffic.close()

    const letters = redisDeadLetters({ client })
    expect((await letters.list({ channel: traffic.channel })).letters).toEqual([])
    await letters.close()
    await client.destroy()
    for (const node of [...sentinels, ...servers.map(({ node }) => node!)]) await node.remove()
  })
})
