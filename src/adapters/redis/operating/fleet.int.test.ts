import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ChaosProxy } from '../../../../test/chaos/proxy.ts'
import { findRedis } from '../../../../test/services/redis.ts'
import { countedClient } from '../../../../test/support/redis-counted.ts'
import type { Command } from '../../../ports/commands.ts'
import type { InstanceReport } from '../../../ports/fleet.ts'
import { TestTiming, uniqueName } from '../../../testing/conformance/harness.ts'
import { openRedis, type RedisOptions, type RedisStore } from '../index.ts'

const found = await findRedis()
const server = found.found && found.isPrivate ? await found.start({ appendfsync: 'no' }) : undefined
const why = found.found ? ' (skipped: the server is not ours)' : ` (skipped: ${found.why})`
const timing = new TestTiming({})
const LONG_MS = 3_600_000
const NEVER = Number.MAX_SAFE_INTEGER

let prefix: string
const open: { close(): Promise<unknown> }[] = []
beforeEach(() => {
  prefix = uniqueName('fleet')
})
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})
afterAll(() => server?.close())

/** A server under load answers late, and none of these tests is about that. */
function openStore(options: RedisOptions = { url: server!.url }): RedisStore {
  const store = openRedis({ prefix, timeoutMs: 60_000, reconnectMaxMs: 50, ...options })
  open.push(store)
  return store
}

async function openThroughProxy(): Promise<readonly [RedisStore, ChaosProxy]> {
  const proxy = await ChaosProxy.to(server!.url)
  open.push(proxy)
  return [openStore({ url: proxy.through(server!.url) }), proxy]
}

/** A store that calls `onCall` with the number of each call to the server, before it. */
async function openCounted(onCall: (call: number) => void): Promise<RedisStore> {
  const counted = await countedClient(server!.url, onCall)
  open.push(counted)
  return openStore({ client: counted.client })
}

/** The keys of the test, without their prefix. */
async function keys(): Promise<readonly string[]> {
  const names = (await server!.node!.command('KEYS', `{${prefix}}*`)) as string[]
  return names.map(name => name.slice(prefix.length + 3)).sort()
}

const commandOf = (id: string, recipients: readonly string[], change: Partial<Command> = {}): Command => ({
  v: 1,
  id,
  request: 'request',
  task: { kind: 'pause' },
  recipients,
  by: 'ann',
  ...change,
})

const manyFor = (instance: string, count: number) =>
  Array.from({ length: count }, (_, index) => commandOf(`c-${index}`, [instance]))

const reportOf = (id: string, change: Partial<InstanceReport> = {}): InstanceReport => ({
  v: 1,
  id,
  service: 'orders',
  host: 'node-1',
  pid: 42,
  startedAt: 1,
  consumers: [],
  sinks: [],
  ...change,
})

const idsOf = (commands: readonly Command[]) => commands.map(({ id }) => id)

describe.runIf(server !== undefined)(`commands in Redis${server ? '' : why}`, () => {
  it('B17: a claim whose answer was lost is repeated and gets the same commands', async () => {
    const [store, proxy] = await openThroughProxy()
    const other = openStore()
    const sent = [commandOf('one', ['a', 'b']), commandOf('two', ['a']), commandOf('three', ['a'])]
    await store.commands.send(sent, LONG_MS)
    // The server must know the script: otherwise the lost answer would be that it does not.
    expect(await store.commands.claim('nobody', 2)).toEqual([])
    proxy.losesNextAnswer = true
    expect(idsOf(await store.commands.claim('a', 2))).toEqual(['one', 'two'])
    expect(proxy.losesNextAnswer).toBe(false)
    expect(await other.commands.claim('b', 2)).toEqual([])
    expect(idsOf(await store.commands.claim('a', 2))).toEqual(['three'])
  })

  it('B17: an outcome whose answer was lost is stored once, and its call says so', async () => {
    const [store, proxy] = await openThroughProxy()
    await store.commands.send([commandOf('one', ['a'])], LONG_MS)
    await store.commands.claim('a', 1)
    expect(await store.commands.finish('one', 'b', { ok: true })).toBe(false)
    proxy.losesNextAnswer = true
    expect(await store.commands.finish('one', 'a', { ok: true, result: 1 })).toBe(true)
    expect(proxy.losesNextAnswer).toBe(false)
    expect(await store.commands.finish('one', 'a', { ok: true, result: 2 })).toBe(false)
    expect((await store.commands.get('request'))[0]?.outcome).toEqual({ ok: true, result: 1 })
  })

  it('B17: more commands than one script takes are claimed, listed and purged in order', async () => {
    const { commands } = openStore()
    const ids = idsOf(manyFor('a', 2_500))
    await commands.send(manyFor('a', 2_500), LONG_MS)
    expect(idsOf(await commands.claim('a', 10))).toEqual(ids.slice(0, 10))
    expect(idsOf(await commands.claim('a', 10_000))).toEqual(ids.slice(10))
    expect((await commands.get('request')).map(({ command }) => command.id)).toEqual(ids)
    const newest = (await commands.list(1_500)).map(({ command }) => command.id)
    expect(newest).toEqual(ids.toReversed().slice(0, 1_500))
    // The unfinished ones stay, wherever they stand.
    await Promise.all(ids.slice(2_200).map(id => commands.finish(id, 'a', { ok: true })))
    expect(await commands.purge(NEVER)).toBe(300)
    expect((await commands.list(10_000)).length).toBe(2_200)
  })

  it('B17: large commands are claimed and read in several answers', async () => {
    let calls = 0
    const { commands } = await openCounted(() => void calls++)
    const task = { kind: 'large', text: 'x'.repeat(900_000) }
    const ids = Array.from({ length: 8 }, (_, index) => `c-${index}`)
    for (const id of ids) await commands.send([commandOf(id, ['a'], { task })], LONG_MS)
    for (const read of [
      async () => (await commands.get('request')).map(({ command }) => command.id),
      async () => (await commands.list(8)).map(({ command }) => command.id).toReversed(),
      async () => idsOf(await commands.claim('a', 8)),
    ]) {
      await commands.claim('nobody', 1)
      calls = 0
      expect(await read()).toEqual(ids)
      expect(calls).toBeGreaterThanOrEqual(2)
    }
  })

  it('B17: commands that were claimed are returned also if the next script fails', async () => {
    let [failAt, last] = [Number.POSITIVE_INFINITY, 0]
    const { commands } = await openCounted(call => {
      if (call >= failAt) throw new Error('Socket closed unexpectedly')
      last = call
    })
    await commands.send(manyFor('a', 1_500), LONG_MS)
    await commands.claim('nobody', 1)
    failAt = last + 2
    expect((await commands.claim('a', 1_500)).length).toBe(1_000)
    await expect(commands.claim('a', 1_500)).rejects.toMatchObject({ code: 'LAZARET_STORE_FAILED' })
    failAt = Number.POSITIVE_INFINITY
    expect((await commands.claim('a', 1_500)).length).toBe(500)
  })

  it('B17: an inbox disappears when it is empty, and when its commands are over', async () => {
    const { commands } = openStore()
    const inboxes = async () => (await keys()).filter(key => key.startsWith('commands:inbox:'))
    await commands.send([commandOf('one', ['a', 'b'])], LONG_MS)
    expect(await inboxes()).toEqual(['commands:inbox:a', 'commands:inbox:b'])
    await commands.claim('a', 1)
    expect(await inboxes()).toEqual(['commands:inbox:b'])
    expect(await commands.claim('b', 1)).toEqual([])
    expect(await inboxes()).toEqual([])
    await commands.send([commandOf('long', ['c'])], LONG_MS)
    await commands.send([commandOf('short', ['c', 'd'])], 1)
    await timing.eventually(async () => !(await inboxes()).includes('commands:inbox:d'), 'd is gone')
    expect(idsOf(await commands.claim('c', 2))).toEqual(['long'])
    expect(await inboxes()).toEqual([])
  })

  it('B17: a command that has expired is not given out when the clock is set', async () => {
    const { commands } = openStore()
    await commands.send([commandOf('one', ['a', 'b']), commandOf('two', ['b'])], LONG_MS)
    const key = `{${prefix}}:commands:command:one`
    const sentAt = String(await server!.node!.command('HGET', key, 'sentAt'))
    await server!.node!.command('HSET', key, 'sentAt', String(Number(sentAt) + 2 * LONG_MS))
    expect(await commands.claim('a', 2)).toEqual([])
    await server!.node!.command('HSET', key, 'sentAt', sentAt)
    expect(idsOf(await commands.claim('b', 2))).toEqual(['two'])
    expect((await commands.get('request')).map(({ state }) => state)).toEqual(['expired', 'claimed'])
  })

  it('B17: a command that was shown as over stays so when the clock comes round to its time again', async () => {
    const { commands } = openStore()
    const ids = ['one', 'two', 'three']
    await commands.send(
      ids.map(id => commandOf(id, [id])),
      LONG_MS,
    )
    await commands.claim('two', 1)
    const keyOf = (id: string) => `{${prefix}}:commands:command:${id}`
    const moveAll = (ms: number) =>
      Promise.all(ids.map(id => server!.node!.command('HINCRBY', keyOf(id), 'sentAt', String(ms))))
    const states = async () => (await commands.get('request')).map(({ state }) => state)
    await moveAll(2 * LONG_MS)
    expect((await commands.list(1))[0]?.state).toBe('expired')
    expect(await states()).toEqual(['expired', 'unanswered', 'expired'])
    await moveAll(-2 * LONG_MS)
    expect(await states()).toEqual(['expired', 'unanswered', 'expired'])
    for (const id of ids) expect(await commands.claim(id, 1)).toEqual([])
    expect(await commands.finish('two', 'two', { ok: true })).toBe(true)
    expect(await states()).toEqual(['expired', 'done', 'expired'])
  })

  it('B17: of purged commands no key is left', async () => {
    const { commands } = openStore()
    await commands.send(
      [commandOf('one', ['a', 'b']), commandOf('two', ['a'], { request: 'other' })],
      LONG_MS,
    )
    await commands.claim('a', 2)
    await commands.finish('one', 'a', { ok: true })
    expect(await commands.purge(NEVER)).toBe(1)
    const left = (await keys()).map(key => key.replace(/claim:.*/, 'claim'))
    expect(left).toEqual([
      'commands:all',
      'commands:claim',
      'commands:command:two',
      'commands:request:other',
      'commands:sent',
    ])
    await commands.finish('two', 'a', { ok: false, error: 'no such breaker' })
    expect(await commands.purge(NEVER)).toBe(1)
    expect(await keys()).toEqual([])
  })
})

describe.runIf(server !== undefined)(`the fleet in Redis${server ? '' : why}`, () => {
  it('B17: a thousand processes are listed in one round trip, and large reports in several', async () => {
    let calls = 0
    const { fleet } = await openCounted(() => void calls++)
    const ids = Array.from({ length: 1_000 }, (_, index) => `id-${String(index).padStart(4, '0')}`)
    await Promise.all(ids.map(id => fleet.report(reportOf(id), LONG_MS)))
    await fleet.list()
    calls = 0
    expect((await fleet.list()).map(({ report }) => report.id)).toEqual(ids)
    expect(calls).toBe(1)
    await fleet.report(reportOf('id-1000'), LONG_MS)
    calls = 0
    expect((await fleet.list()).length).toBe(1_001)
    expect(calls).toBe(2)
    const sink = { breaker: 'off', buffered: 0, inFlight: 0, retrying: 0, delivered: 0, gaveUp: 0 } as const
    const sinks = Array.from({ length: 1_000 }, () => ({ name: 'x'.repeat(900), ...sink }))
    for (const id of ids.slice(0, 10)) await fleet.report(reportOf(id, { sinks }), LONG_MS)
    calls = 0
    expect((await fleet.list()).map(({ report }) => report.id)).toEqual([...ids, 'id-1000'])
    expect(calls).toBeGreaterThanOrEqual(3)
  })

  it('B17: a purge goes through all processes, and of the purged ones no key is left', async () => {
    const { fleet } = openStore()
    const ids = Array.from({ length: 2_100 }, (_, index) => `id-${index}`)
    await Promise.all(ids.map(id => fleet.report(reportOf(id), LONG_MS)))
    await Promise.all(ids.slice(50).map(id => fleet.leave(id)))
    expect(await fleet.purge(NEVER)).toBe(2_050)
    await Promise.all(ids.slice(0, 50).map(id => fleet.leave(id)))
    expect(await fleet.purge(NEVER)).toBe(50)
    expect(await keys()).toEqual([])
  })

  it('B17: a clock that was set back does not keep a process alive for longer than its lease', async () => {
    const { fleet } = openStore()
    await fleet.report(reportOf('a'), 60_000)
    const key = `{${prefix}}:fleet:reports`
    const kept = String(await server!.node!.command('HGET', key, 'a'))
    const future = String(Number(/\d+/.exec(kept)![0]) + 120_000)
    await server!.node!.command('HSET', key, 'a', kept.replace(/\d+/, future))
    const [instance] = await fleet.list()
    expect(instance).toMatchObject({ state: 'gone', silentMs: 0 })
    expect(await fleet.purge(NEVER)).toBe(1)
  })

  it('B17: a report and commands that cannot be read do not hold up the others', async () => {
    const store = openStore()
    await store.fleet.report(reportOf('whole'), LONG_MS)
    await store.fleet.report(reportOf('broken'), LONG_MS)
    const command = (...args: string[]) => server!.node!.command(...(args as [string]))
    await command('HSET', `{${prefix}}:fleet:reports`, 'broken', 'of another form')
    expect((await store.fleet.list()).map(({ report }) => report.id)).toEqual(['whole'])
    expect(await store.fleet.purge(NEVER)).toBe(0)
    await store.commands.send(
      ['text', 'time', 'whole'].map(id => commandOf(id, ['a'])),
      LONG_MS,
    )
    await command('HSET', `{${prefix}}:commands:command:text`, 'body', 'not json')
    await command('HDEL', `{${prefix}}:commands:command:time`, 'sentAt', 'to')
    expect((await store.commands.claim('a', 10)).map(({ id }) => id)).toEqual(['whole'])
    expect((await store.commands.list(10)).map(each => each.command.id)).toContain('whole')
    expect(await store.commands.purge(NEVER)).toBe(1)
  })

  it('B17: a report that cannot be read is purged when it did not change for an hour', async () => {
    const { fleet } = openStore()
    const command = (...args: [string, ...string[]]) => server!.node!.command(...args)
    const [reports, notes] = [`{${prefix}}:fleet:reports`, `{${prefix}}:fleet:unreadable`]
    for (const id of ['silent', 'reporting', 'readable', 'whole']) await fleet.report(reportOf(id), LONG_MS)
    for (const id of ['silent', 'reporting', 'readable'])
      await command('HSET', reports, id, 'of another form')
    expect(await fleet.purge(NEVER)).toBe(0)
    for (const id of ['silent', 'reporting', 'readable']) {
      const [at, digest] = String(await command('HGET', notes, id)).split(':')
      await command('HSET', notes, id, `${Number(at) - LONG_MS}:${digest}`)
    }
    await command('HSET', reports, 'reporting', 'of another form, and newer')
    await fleet.report(reportOf('readable'), LONG_MS)
    expect(await fleet.purge(1)).toBe(0)
    expect(await fleet.purge(NEVER)).toBe(1)
    expect(((await command('HKEYS', reports)) as string[]).sort()).toEqual(['readable', 'reporting', 'whole'])
    expect(await command('HKEYS', notes)).toEqual(['reporting'])
  })
})
