import { createClient } from 'redis'
import type { RedisClient } from '../../src/adapters/redis/index.ts'
import { keysOf } from '../../src/adapters/redis/keys.ts'

const FACTS = `return cjson.encode(cmsgpack.unpack(redis.call('HGET', KEYS[1], 'm')))`
const FIELDS = ['c', 'h', 't', 'r', 'y', 's', 'g', 'a']

/** What a look at the keys themselves finds wrong: entries without their letter, letters without theirs, wrong counts. */
export async function faultsOf(url: string, prefix: string): Promise<string[]> {
  const client = createClient({ url, RESP: 2 })
  await client.connect()
  try {
    return await findFaults(client, keysOf(prefix).of('letters'))
  } finally {
    client.destroy()
  }
}

async function findFaults(client: RedisClient, root: string) {
  const keys = ((await client.sendCommand(['KEYS', `${escaped(root)}:*`])) as unknown as string[]).map(key =>
    key.slice(root.length + 1),
  )
  const ask = (...words: string[]) => client.sendCommand(words) as unknown as Promise<string[]>
  const membersOf = async (key: string) => {
    const type = String(await ask('TYPE', key))
    return type === 'set'
      ? ask('SMEMBERS', key)
      : type === 'hash'
        ? ask('HKEYS', key)
        : ask('ZRANGE', key, '0', '-1')
  }
  const letters = new Map<string, Map<string, string>>()
  for (const key of keys.filter(each => each.startsWith('letter:'))) {
    const facts = JSON.parse(String(await ask('EVAL', FACTS, '1', `${root}:${key}`)))
    letters.set(key.slice('letter:'.length), new Map(Object.entries<string>(facts)))
  }
  const faults: string[] = []
  const expected = new Map<string, Set<string>>()
  const expect = (key: string, id: string) =>
    expected.set(key, (expected.get(key) ?? new Set<string>()).add(id))
  const counts = new Map<string, number>()
  const count = (field: string) => counts.set(field, (counts.get(field) ?? 0) + 1)
  for (const [id, fields] of letters) {
    expect('all', id)
    const facet = fields.get('f')!
    expect(`by:g:${fields.get('g')}`, id)
    expect(`first:${fields.get('g')}`, id)
    expect(`facet:${facet}`, id)
    expect(`facet-first:${facet}`, id)
    expect('facets', facet)
    for (const field of FIELDS) {
      expect(`having:${field}:${fields.get(field)}`, facet)
      expect(`values:${field}`, fields.get(field)!)
    }
    for (const facet of ['s', 'r', 'c']) count(`${facet}:${fields.get(facet)}`)
    expect('groups', fields.get('g')!)
  }
  for (const key of keys.filter(each =>
    /^(?:all|groups|facets)$|^(?:by|first|facet|facet-first|having|values):/.test(each),
  )) {
    const members = await membersOf(`${root}:${key}`)
    for (const member of members)
      if (!expected.get(key)?.has(member)) faults.push(`${key} has ${member}, which is not there`)
    for (const id of expected.get(key) ?? []) if (!members.includes(id)) faults.push(`${key} has no ${id}`)
    expected.delete(key)
  }
  for (const key of expected.keys()) faults.push(`${key} is not there`)
  for (const id of await ask('ZRANGE', `${root}:expiry`, '0', '-1'))
    if (!letters.has(id)) faults.push(`expiry has ${id}, which is not there`)
  const counted = await ask('HGETALL', `${root}:counts`)
  for (let at = 0; at < counted.length; at += 2) {
    const [field, n] = [counted[at]!, Number(counted[at + 1])]
    if (counts.get(field) !== n) faults.push(`counts of ${field} are ${n}, letters ${counts.get(field) ?? 0}`)
    counts.delete(field)
  }
  for (const [field, n] of counts) faults.push(`counts has no ${field}, letters ${n}`)
  return faults
}

function escaped(pattern: string): string {
  return pattern.replaceAll(/[*?[\]\\]/g, '\\$&')
}
