import { letterPages } from '../../adapter-kit/query/letter-pages.ts'
import type { FileUsage } from '../../adapters/file/index.ts'
import type { PostgresStore } from '../../adapters/postgres/index.ts'
import type { RedisStore, ServerFindings } from '../../adapters/redis/index.ts'
import { isHeld, type LetterState } from '../../core/dead-letter/state.ts'
import { countSelection, freezeBulk } from '../../operations/bulk.ts'
import { watchMissingLetters } from '../../operations/missing-letters.ts'
import type { DeadLetterStore } from '../../ports/dead-letters.ts'
import type { Store } from '../../ports/store.ts'
import { counted, sizeText } from '../print/fields.ts'
import { type Check, fail, failWith, ok, warn } from './check.ts'
import { damageCheck } from './files.ts'

/** Implemented by stores that consist of files. Other stores skip the check for damage. */
interface ReportsUsage {
  usage(): Promise<FileUsage>
}

/** The checks that read every letter are skipped in larger stores. */
const MAX_READ = 20_000

/** Checks that the letters can be read, and counts those that wait. */
export async function checkLetters(store: Store): Promise<{ checks: Check[]; newestAt: number | undefined }> {
  try {
    const { count, byState, newestAt } = await store.deadLetters.stats()
    const held = Object.entries(byState).reduce(
      (sum, [state, n]) => sum + (isHeld(state as LetterState) ? n : 0),
      0,
    )
    const found = `${counted(count, 'letter')}, ${held} of them waiting`
    const unreadable = await countUnreadable(store, count)
    const check = unreadable === 0 ? ok('letters', found) : unreadableCheck(found, unreadable)
    return { checks: [check], newestAt }
  } catch (error) {
    return {
      checks: [failWith('letters', error, 'fix this error, then run lazaret doctor again')],
      newestAt: undefined,
    }
  }
}

/** Lists leave out a letter that another program changed, and counts include it. */
async function countUnreadable({ deadLetters }: Store, count: number): Promise<number> {
  if (count > MAX_READ) {
    await deadLetters.list({ limit: 10 })
    return 0
  }
  const missingOf = await watchMissingLetters(deadLetters, {})
  let listed = 0
  for await (const page of letterPages(deadLetters, {})) listed += page.length
  return missingOf(listed)
}

function unreadableCheck(found: string, unreadable: number): Check {
  const are = unreadable === 1 ? 'is' : 'are'
  return warn(
    'letters',
    `${found}; ${unreadable} cannot be read, and ${are} in no list, export or replay`,
    'another program changed what is stored: restore it from a backup, or import an earlier export with lazaret dlq import; a purge deletes it',
  )
}

export async function checkDamage({ deadLetters }: Store): Promise<Check[]> {
  const known = deadLetters as DeadLetterStore & Partial<ReportsUsage>
  if (known.usage === undefined) return []
  try {
    const usage = await known.usage()
    const size = `${counted(usage.files, 'file')} of ${sizeText(usage.bytes)}`
    const found = damageCheck('damage', usage)
    return found.length > 0 ? found : [ok('damage', `no damage in ${size}`)]
  } catch (error) {
    return [failWith('damage', error, 'fix this error, then run lazaret doctor again')]
  }
}

const TRIGRAMS = 'create extension if not exists pg_trgm'
/** One that was interrupted while it was made has the name, and no search uses it. */
const NO_BROKEN_INDEX = 'drop index concurrently if exists lazaret.dead_letters_search'
const SEARCH_INDEX =
  'create index concurrently dead_letters_search on lazaret.dead_letters using gin (search gin_trgm_ops)'

/** Checks that a text search of many letters on Postgres has its index. */
export async function checkSearch(store: Store): Promise<Check[]> {
  const { hasSearchIndex } = store as Partial<PostgresStore>
  if (hasSearchIndex === undefined) return []
  try {
    if (await hasSearchIndex()) return [ok('search', 'a text search uses an index')]
    const { count } = await store.deadLetters.stats({}, { stopAt: MAX_READ })
    if (count <= MAX_READ) return [ok('search', 'a text search reads the letters, which are few')]
    const found = `a text search has no index, and reads up to ${counted(count, 'letter')}`
    return [warn('search', found, `${TRIGRAMS}; ${NO_BROKEN_INDEX}; ${SEARCH_INDEX}`)]
  } catch (error) {
    return [failWith('search', error, 'fix this error, then run lazaret doctor again')]
  }
}

export async function checkExpired(store: Store, now: number): Promise<Check[]> {
  try {
    const { count, atLeast } = await store.deadLetters.stats({}, { stopAt: MAX_READ })
    if (atLeast || count > MAX_READ) return []
    const counts = countSelection(await freezeBulk(store, { filter: {}, isExpiredOnly: true, at: now }))
    const expired = [...counts.values()].reduce((sum, count) => sum + count, 0)
    if (expired === 0) return [ok('retention', 'no letter is past its retention')]
    const found = `${counted(expired, 'letter')} past the retention`
    return [warn('retention', found, 'lazaret dlq purge --expired')]
  } catch (error) {
    return [failWith('retention', error, 'fix this error, then run lazaret doctor again')]
  }
}

const FULL_SHARE = 0.95
const LOW_SHARE = 0.8

/** Checks the settings of Redis that decide whether letters survive full memory or a power cut. */
export async function checkRedis(store: Store): Promise<Check[]> {
  const { inspect } = store as Partial<RedisStore>
  if (inspect === undefined) return []
  try {
    const findings = await inspect()
    return [checkVersion(findings), checkEviction(findings), checkDurability(findings), checkMemory(findings)]
  } catch (error) {
    return [failWith('redis', error, 'fix this error, then run lazaret doctor again')]
  }
}

/** Opening the store has already refused a version that is too old. */
function checkVersion({ version }: ServerFindings): Check {
  return ok('redis', `version ${version}`)
}

function checkEviction({ evictionPolicy }: ServerFindings): Check {
  if (evictionPolicy === 'noeviction')
    return ok('eviction', 'noeviction: Redis never deletes letters to free memory')
  const remedy = 'CONFIG SET maxmemory-policy noeviction, and the same in redis.conf'
  if (evictionPolicy === undefined)
    return warn('eviction', 'the server does not report its eviction policy', remedy)
  return fail('eviction', `${evictionPolicy}: Redis deletes letters when its memory is full`, remedy)
}

function checkDurability({ appendOnly, appendFsync, snapshots, isWriting }: ServerFindings): Check {
  const name = 'durability'
  if (!isWriting)
    return fail(name, 'the last write to disk failed', 'free disk space, and check the Redis log')
  if (!appendOnly) {
    const remedy = 'CONFIG SET appendonly yes, and the same in redis.conf'
    return snapshots === ''
      ? fail(name, 'Redis writes nothing to disk: a restart loses every letter', remedy)
      : warn(name, 'snapshots only: a crash loses every letter since the last snapshot', remedy)
  }
  if (appendFsync === 'always') return ok(name, 'appendfsync always: every acknowledged write is on disk')
  const remedy = 'CONFIG SET appendfsync always where no letter may be lost; a letter then takes an fsync'
  if (appendFsync === 'everysec')
    return warn(name, 'appendfsync everysec: a power cut or a killed server loses the last seconds', remedy)
  return warn(name, `appendfsync ${appendFsync ?? 'not reported'}: a power cut loses some letters`, remedy)
}

function checkMemory({ usedBytes, maxBytes }: ServerFindings): Check {
  if (maxBytes === undefined) return ok('memory', `${sizeText(usedBytes)} used, no limit set`)
  const share = usedBytes / maxBytes
  const found = `${sizeText(usedBytes)} of ${sizeText(maxBytes)} used, ${Math.floor(share * 100)} %`
  const remedy = 'raise maxmemory, or free memory: lazaret dlq purge --state resolved'
  if (share >= FULL_SHARE) return fail('memory', found, remedy)
  return share >= LOW_SHARE ? warn('memory', found, remedy) : ok('memory', found)
}
