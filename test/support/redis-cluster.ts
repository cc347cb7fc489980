import { TestTiming } from '../../src/testing/conformance/harness.ts'
import type { Redis, RedisService } from '../services/redis.ts'

/** The variable that asks for more nodes, each with its share of the slots. */
export const REDIS_SHARDS = 'LAZARET_TEST_REDIS_SHARDS'
const SLOTS = 16_384
const timing = new TestTiming({})

/** A cluster of one node, unless the environment asks for more: small, and as strict about slots as a large one. */
export async function startCluster(redis: Extract<Redis, { found: true }>): Promise<RedisService> {
  const count = Number(process.env[REDIS_SHARDS] || 1)
  const shards = await Promise.all(Array.from({ length: count }, () => startShard(redis)))
  const [first] = shards
  for (const [index, { node }] of shards.entries()) {
    const from = Math.floor((index * SLOTS) / count)
    const to = Math.floor(((index + 1) * SLOTS) / count) - 1
    await node!.command('CLUSTER', 'ADDSLOTSRANGE', String(from), String(to))
    if (index > 0) await first!.node!.command('CLUSTER', 'MEET', '127.0.0.1', String(node!.port))
  }
  for (const shard of shards)
    await timing.eventually(() => isWhole(shard, count), 'the cluster has all its slots and nodes')
  const close = async () => {
    await Promise.all(shards.map(shard => shard.close()))
  }
  return { ...first!, close }
}

function startShard(redis: Extract<Redis, { found: true }>): Promise<RedisService> {
  return redis.start({ 'cluster-enabled': 'yes', 'cluster-announce-ip': '127.0.0.1' })
}

async function isWhole({ node }: RedisService, count: number): Promise<boolean> {
  const info = String(await node!.command('CLUSTER', 'INFO'))
  return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${count}\r\n`)
}
