import { TestTiming } from '../../src/testing/conformance/harness.ts'
import type { Redis, RedisService } from '../services/redis.ts'

/** A cluster of one node: small, and as strict about slots as a large one. */
export async function startCluster(redis: Extract<Redis, { found: true }>): Promise<RedisService> {
  const service = await redis.start({ 'cluster-enabled': 'yes', 'cluster-announce-ip': '127.0.0.1' })
  await service.node!.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
  const isWhole = async () => String(await service.node!.command('CLUSTER', 'INFO')).includes('state:ok')
  await new TestTiming({}).eventually(isWhole, 'the cluster has all its slots')
  return service
}
