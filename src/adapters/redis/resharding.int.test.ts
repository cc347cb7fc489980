import { createClient, createCluster } from 'redis'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { findRedis, type RedisService } from '../../../test/services/redis.ts'
import { REDIS_SHARDS, startCluster } from '../../../test/support/redis-cluster.ts'
import { faultsOf } from '../../../test/support/redis-letters.ts'
import { systemClock } from '../../ports/clock.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'
import { createFactory } from '../../testing/factories.ts'
import { openRedis, type RedisStore } from './index.ts'
import { keysOf } from './keys.ts'

const redis = await findRedis()
const isOwn = redis.found && redis.isPrivate
const why = isOwn ? '' : ' (skipped: no private server)'
const make = createFactory({ clock: systemClock })
const MOVING = { code: 'LAZARET_STORE_FAILED', retryable: true, reply: 'TRYAGAIN' }

interface ClusterNode {
  readonly id: string
  readonly host: string
  readonly port: string
  readonly url: string
  /** The slots of the node: `0-8191`, or one by itself. A slot that was moved splits the range that it was in. */
  readonly slots: readonly string[]
  send(...words: string[]): Promise<unknown>
}

describe.runIf(isOwn)(`Redis while a cluster moves a slot${why}`, () => {
  const closing: (() => unknown)[] = []
  let cluster: RedisService
  let client: ReturnType<typeof createCluster>

  beforeAll(async () => {
    if (!isOwn) return
    vi.stubEnv(REDIS_SHARDS, '2')
    cluster = await startCluster(redis)
    vi.unstubAllEnvs()
    client = createCluster({ rootNodes: [{ url: cluster.url }] })
    await client.connect()
    closing.push(
      () => client.destroy(),
      () => cluster.close(),
    )
  })
  afterAll(async () => {
    for (const close of closing) await close()
  })

  const open = (prefix: string, timeoutMs?: number): RedisStore => {
    const store = openRedis({ client: client as never, prefix, timeoutMs })
    closing.unshift(() => store.close())
    return store
  }

  const readNodes = async (): Promise<readonly ClusterNode[]> => {
    const table = String(await cluster.node!.command('CLUSTER', 'NODES'))
    return await Promise.all(table.trim().split('\n').map(connectNode))
  }

  const connectNode = async (line: string): Promise<ClusterNode> => {
    const [id, address, , , , , , , ...slots] = line.split(' ')
    const [, host, port] = /^(.+):(\d+)@/.exec(address!)!
    const url = `redis://${host}:${port}`
    const direct = createClient({ url })
    await direct.connect()
    closing.unshift(() => direct.destroy())
    return {
      id: id!,
      host: host!,
      port: port!,
      url,
      slots,
      send: (...words) => direct.sendCommand(words),
    }
  }

  /** Announces the move of the slot of a prefix. The cluster moves no key by that. */
  const startMove = async (prefix: string) => {
    const slot = String(await cluster.node!.command('CLUSTER', 'KEYSLOT', keysOf(prefix).of('letters')))
    const nodes = await readNodes()
    const isOwner = ({ slots }: ClusterNode) =>
      slots.some(range => {
        const [from, to = from] = range.split('-')
        return Number(from) <= Number(slot) && Number(slot) <= Number(to)
      })
    const [from, to] = [nodes.find(isOwner)!, nodes.find(each => !isOwner(each))!]
    await to.send('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id)
    await from.send('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id)
    const keysIn = async (node: ClusterNode) =>
      (await node.send('CLUSTER', 'GETKEYSINSLOT', slot, '1000')) as string[]
    return { slot, from, to, keysIn }
  }

  /** How many calls a node has answered with TRYAGAIN. */
  const refusals = async (node: ClusterNode) => {
    const stats = String(await node.send('INFO', 'errorstats'))
    return Number(/errorstat_TRYAGAIN:count=(\d+)/.exec(stats)?.[1] ?? 0)
  }

  it('E11: no letter is taken as missing, and no second store is begun: calls fail and can be tried again', async () => {
    const prefix = uniqueName('announced')
    const store = open(prefix, 500)
    const [letter, other] = [make.letter(), make.letter()]
    await store.deadLetters.send(letter)
    const { slot, from, to, keysIn } = await startMove(prefix)
    await expect(store.deadLetters.get(letter.id)).rejects.toMatchObject(MOVING)
    await expect(store.deadLetters.send(other)).rejects.toMatchObject(MOVING)
    await expect(store.audit!.list()).rejects.toMatchObject(MOVING)
    expect(await keysIn(to)).toEqual([])
    for (const node of [from, to]) await node.send('CLUSTER', 'SETSLOT', slot, 'STABLE')
    await store.deadLetters.send(other)
    expect((await store.deadLetters.list()).letters).toHaveLength(2)
    expect(await faultsOf(from.url, prefix)).toEqual([])
  })

  it('E11: a move that is short is not noticed: calls wait for it within their time', async () => {
    const prefix = uniqueName('short')
    const store = open(prefix)
    const [letter, other] = [make.letter(), make.letter()]
    await store.deadLetters.send(letter)
    const { slot, from, to, keysIn } = await startMove(prefix)
    const before = await refusals(to)
    const sending = store.deadLetters.send(other)
    const reading = store.deadLetters.get(letter.id)
    // A call that fails early is seen below, and not as an unhandled rejection.
    void Promise.allSettled([sending, reading])
    await vi.waitUntil(async () => (await refusals(to)) >= before + 2, { timeout: 10_000 })
    for (const key of await keysIn(from)) await from.send('MIGRATE', to.host, to.port, key, '0', '5000')
    for (const node of [to, from]) await node.send('CLUSTER', 'SETSLOT', slot, 'NODE', to.id)
    await sending
    expect(await reading).toEqual(letter)
    expect((await store.deadLetters.list()).letters).toHaveLength(2)
    expect(await faultsOf(to.url, prefix)).toEqual([])
  })

  it('E11: all is there when the slot has moved', async () => {
    const prefix = uniqueName('moved')
    const store = open(prefix, 500)
    const [letter, other] = [make.letter(), make.letter()]
    await store.deadLetters.send(letter)
    const { slot, from, to, keysIn } = await startMove(prefix)
    const keys = await keysIn(from)
    for (const [at, key] of keys.entries()) {
      await from.send('MIGRATE', to.host, to.port, key, '0', '5000')
      if (at === Math.floor(keys.length / 2))
        await expect(store.deadLetters.send(other)).rejects.toMatchObject(MOVING)
    }
    for (const node of [to, from]) await node.send('CLUSTER', 'SETSLOT', slot, 'NODE', to.id)
    await store.deadLetters.send(other)
    expect((await store.deadLetters.list()).letters).toHaveLength(2)
    expect(await faultsOf(to.url, prefix)).toEqual([])
  })
})
