import type { RedisStore, ServerFindings } from '../../adapters/redis/index.ts'
import type { Store } from '../../ports/store.ts'
import { sizeText } from '../print/fields.ts'
import { type Check, fail, failWith, ok, warn } from './check.ts'

const FULL_SHARE = 0.95
const LOW_SHARE = 0.8

/** How a Redis is set up decides whether it keeps letters: it can be told to forget them when memory or power runs out. */
export async function checkRedis(store: Store): Promise<Check[]> {
  const { inspect } = store as Partial<RedisStore>
  if (inspect === undefined) return []
  try {
    const findings = await inspect()
    return [checkVersion(findings), checkEviction(findings), checkDurability(findings), checkMemory(findings)]
  } catch (error) {
    return [failWith('redis', error, 'see the message')]
  }
}

/** One that is too old was refused when it was opened. */
function checkVersion({ version }: ServerFindings): Check {
  return ok('redis', `version ${version}`)
}

function checkEviction({ evictionPolicy }: ServerFindings): Check {
  if (evictionPolicy === 'noeviction')
    return ok('eviction', 'noeviction: nothing is thrown away to make room')
  const remedy = 'CONFIG SET maxmemory-policy noeviction, and the same in its redis.conf'
  if (evictionPolicy === undefined) return warn('eviction', 'the server does not tell its policy', remedy)
  return fail('eviction', `${evictionPolicy}: when its memory is full, letters vanish`, remedy)
}

function checkDurability({ appendOnly, appendFsync, snapshots, isWriting }: ServerFindings): Check {
  const name = 'durability'
  if (!isWriting) return fail(name, 'its last write to the disk failed', 'make room there, and see its log')
  if (!appendOnly) {
    const remedy = 'CONFIG SET appendonly yes, and the same in its redis.conf'
    return snapshots === ''
      ? fail(name, 'nothing is written to the disk: a restart loses every letter', remedy)
      : warn(name, 'only snapshots: a crash loses every letter since the last one', remedy)
  }
  if (appendFsync === 'always') return ok(name, 'appendfsync always: what it acknowledged is on the disk')
  const remedy = 'CONFIG SET appendfsync always where no letter may be lost; a letter then takes an fsync'
  if (appendFsync === 'everysec')
    return warn(name, 'appendfsync everysec: a power cut loses the last second', remedy)
  return warn(name, `appendfsync ${appendFsync ?? 'is not told'}: a power cut loses some letters`, remedy)
}

function checkMemory({ usedBytes, maxBytes }: ServerFindings): Check {
  if (maxBytes === undefined) return ok('memory', `${sizeText(usedBytes)} used, no limit set`)
  const share = usedBytes / maxBytes
  const found = `${sizeText(usedBytes)} of ${sizeText(maxBytes)} used, ${Math.floor(share * 100)} %`
  const remedy = 'raise maxmemory, or make room: lazaret dlq purge --state resolved'
  if (share >= FULL_SHARE) return fail('memory', found, remedy)
  return share >= LOW_SHARE ? warn('memory', found, remedy) : ok('memory', found)
}
