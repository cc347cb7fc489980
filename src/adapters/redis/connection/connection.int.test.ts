import { createClient } from 'redis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { findRedis, type RedisService } from '../../../../test/services/redis.ts'
import { resolveConnection } from '../../../../test/support/redis-connection.ts'
import { StoreClosedError } from '../../../ports/store.ts'
import { TestTiming } from '../../../testing/conformance/harness.ts'
import { RedisError } from '../errors.ts'
import { keysOf } from '../keys.ts'
import type { RedisConnectionOptions } from '../options.ts'
import { RedisConnection } from './connection.ts'
import { listOf, numberOf, pairsOf, textOf } from './replies.ts'
import { run, script } from './script.ts'

const redis = await findRedis()
const why = redis.found ? (redis.isPrivate ? '' : 'a given server is not stopped') : redis.why

const timing = new TestTiming({})

const add = script('adding', numberOf, `return redis.call('incrby', KEYS[1], ARGV[1])`)

describe.skipIf(why !== '')(`a connection to Redis ${why}`, () => {
  let server: RedisService
  const open: { close(): Promise<unknown> }[] = []
  beforeAll(async () => {
    server = redis.found ? await redis.start() : (undefined as never)
  })
  afterAll(() => server?.close())
  afterEach(async () => {
    server.node!.thaw()
    await server.node!.start()
    for (const each of open.splice(0)) await each.close()
  })

  const connect = (options: RedisConnectionOptions = {}) => {
    const whole = 'client' in options ? options : { url: server.url, ...options }
    const connection = RedisConnection.of(resolveConnection('test', whole), 'test')
    open.push(connection)
    return connection
  }

  it('E11: a script runs by its hash, on a server that has forgotten it too', async () => {
    const connection = connect()
    const key = keysOf('scripts').of('sum')
    expect(await run(connection, add, [key], ['2'])).toBe(2)
    await connection.send('forgetting', ['SCRIPT', 'FLUSH'])
    const sums = await Promise.all([1, 1, 1].map(() => run(connection, add, [key], ['1'])))
    expect(sums).toEqual([3, 4, 5])
  })

  it.each([2, 3] as const)("E11: the caller's own client does, with RESP%i and buffers", async RESP => {
    const client = createClient({ url: server.url, RESP, commandOptions: { typeMapping: { 36: Buffer } } })
    client.on('error', () => {})
    await client.connect()
    const connection = connect({ client })
    const key = keysOf('given').of(`hash-${RESP}`)
    await connection.send('writing', ['HSET', key, 'a', 'ü', 'b', '2'])
    expect(pairsOf(await connection.send('reading', ['HGETALL', key]))).toEqual([
      ['a', 'ü'],
      ['b', '2'],
    ])
    const second = connection.another('second')
    expect(listOf(await second.send('reading', ['HMGET', key, 'a', 'c']))).toEqual(['ü', null])
    await second.close()
    await connection.close()
    expect(client.isReady).toBe(true)
    client.destroy()
  })

  it("B7: a duplicate of the caller's client that has closed itself is replaced", async () => {
    const client = createClient({ url: server.url })
    await client.connect()
    const duplicate = client.duplicate.bind(client)
    const copies: { destroy(): void }[] = []
    client.duplicate = (...overrides) => {
      const copy = duplicate(...overrides)
      copies.push(copy)
      return copy
    }
    const second = connect({ client }).another('second')
    open.unshift(second)
    await second.send('asking', ['PING'])
    copies[0]!.destroy()
    expect(await second.send('asking', ['PING'])).toBe('PONG')
    expect(copies).toHaveLength(2)
    client.destroy()
  })

  it('B7: a server that is away is told of in time, in one error without the password', async () => {
    await server.node!.stop()
    const url = server.url.replace('//', '//someone:secret@')
    const connection = connect({ url, timeoutMs: 300 })
    const error = await connection.send('saving a letter', ['PING']).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(RedisError)
    expect(error).toMatchObject({ kind: 'unreachable', retryable: true, code: 'LAZARET_STORE_FAILED' })
    expect((error as RedisError).message).toMatch(
      /^redis: saving a letter: no connection to redis:\/\/127\.0\.0\.1:\d+: connect ECONNREFUSED .*; check that the server runs/,
    )
    expect((error as RedisError).message).not.toContain('secret')
  })

  it('B7: who does not let us in is told of at once, and asked again by the next call', async () => {
    await server.node!.command('ACL', 'SETUSER', 'ann', 'on', '>right', '~*', '+@all')
    const connection = connect({ url: server.url.replace('//', '//ann:wrong@'), timeoutMs: 60_000 })
    const error = await connection.send('saving', ['PING']).catch(thrown => thrown)
    expect(error).toMatchObject({ reply: 'WRONGPASS', kind: 'reply', retryable: true })
    expect((error as Error).message).toMatch(/^redis: saving: WRONGPASS .*; check the user and the password/)
    await server.node!.command('ACL', 'SETUSER', 'ann', 'on', '>wrong', '~*', '+@all')
    expect(await connection.send('saving', ['PING'])).toBe('PONG')
  })

  it('F8: somebody who sits and waits is told by the first try that fails', async () => {
    const connection = connect({ url: 'redis://127.0.0.1:1', timeoutMs: 60_000 })
    const asked = connection.send('asking', ['PING'], { failOnFirstConnect: true })
    await expect(asked).rejects.toMatchObject({ kind: 'unreachable' })
  })

  it('E4: what would mean something else later fails at once while a lost connection is replaced', async () => {
    const connection = connect({ timeoutMs: 20_000, reconnectMaxMs: 100 })
    await connection.send('asking', ['PING'], { failWhileDisconnected: true })
    await server.node!.kill()
    const isLost = () =>
      connection.send('asking', ['PING'], { failWhileDisconnected: true }).then(
        () => false,
        error => error instanceof RedisError && error.kind === 'unreachable',
      )
    await timing.eventually(isLost, 'that there is no connection is known')
    await server.node!.start()
  })

  it("E4: so it does on the caller's own client, which would keep it until it is connected again", async () => {
    const client = createClient({ url: server.url })
    client.on('error', () => {})
    await client.connect()
    const connection = connect({ client, timeoutMs: 20_000 })
    await connection.send('asking', ['PING'], { failWhileDisconnected: true })
    await server.node!.kill()
    await timing.eventually(() => !client.isReady, 'it is not connected')
    const asked = connection.send('asking', ['PING'], { failWhileDisconnected: true })
    await expect(asked).rejects.toMatchObject({ kind: 'unreachable' })
    client.destroy()
  })

  it('B7: it reconnects even if the listener for the lost connection throws', async () => {
    const onError = () => {
      throw new Error('the log is full')
    }
    const connection = connect({ timeoutMs: 20_000, reconnectMaxMs: 100, onError })
    await connection.send('asking', ['PING'])
    await server.node!.kill()
    await server.node!.start()
    expect(await connection.send('asking', ['PING'], { idempotent: true })).toBe('PONG')
  })

  it('B7: calls made while it is away go through when it comes back in time', async () => {
    const connection = connect({ timeoutMs: 20_000, reconnectMaxMs: 100 })
    await connection.send('asking', ['PING'])
    await server.node!.kill()
    const later = connection.send('asking', ['PING'], { idempotent: true })
    await server.node!.start()
    expect(await later).toBe('PONG')
  })

  it('B7: a call in flight when the connection breaks is sent again only if told that it may', async () => {
    const connection = connect({ timeoutMs: 20_000, reconnectMaxMs: 100 })
    const key = keysOf('broken').of('list')
    await connection.send('asking', ['PING'])
    const once = connection.send('waiting', ['BLPOP', key, '0'], { blockMs: 1_000 }).catch(error => error)
    const twice = connection.send('waiting', ['BLPOP', key, '0'], { blockMs: 1_000, idempotent: true })
    await timing.eventually(
      async () => textOf(await server.node!.command('INFO', 'clients')).includes('blocked_clients:1'),
      'the call is in flight',
    )
    await server.node!.kill()
    expect(await once).toMatchObject({ kind: 'lost', retryable: true })
    await server.node!.start()
    await server.node!.command('RPUSH', key, 'here')
    expect(await twice).toEqual([key, 'here'])
  })

  it('B7: a frozen server times out with a clear error, and is used again when it thaws', async () => {
    const connection = connect({ timeoutMs: 200, reconnectMaxMs: 50 })
    await connection.send('asking', ['PING'])
    server.node!.freeze()
    const error = await connection.send('asking', ['PING']).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ kind: 'silent', retryable: true })
    expect((error as Error).message).toContain('no answer within 200 ms')
    await expect(connection.send('asking', ['PING'])).rejects.toMatchObject({ kind: 'unreachable' })
    server.node!.thaw()
    const answers = async () => (await connection.send('asking', ['PING']).catch(() => '')) === 'PONG'
    await timing.eventually(answers, 'it answers again')
  })

  it('F2/S3: what the server refuses is told with its word and a remedy', async () => {
    const connection = connect()
    await server.node!.command('CONFIG', 'SET', 'maxmemory', '1')
    const full = await run(connection, add, [keysOf('full').of('sum')], ['1']).catch(error => error)
    await server.node!.command('CONFIG', 'SET', 'maxmemory', '0')
    expect(full).toMatchObject({ reply: 'OOM', kind: 'reply', retryable: true })
    expect(full.message).toMatch(/^redis: adding: OOM .*; raise maxmemory, or free memory/)
    const wrong = await connection.send('asking', ['NOSUCHCOMMAND']).catch(error => error)
    expect(wrong).toMatchObject({ reply: 'ERR', kind: 'reply' })
  })

  it('F2/S3: a replica is reported, and its host name is resolved again', async () => {
    const connection = connect()
    const key = keysOf('replica').of('sum')
    await run(connection, add, [key], ['1'])
    const myId = () => connection.send('asking', ['CLIENT', 'ID'])
    const before = await myId()
    await server.node!.command('REPLICAOF', '127.0.0.1', '1')
    const error = await run(connection, add, [key], ['1']).catch(thrown => thrown)
    await server.node!.command('REPLICAOF', 'NO', 'ONE')
    expect(error).toMatchObject({ reply: 'READONLY', retryable: true })
    expect(error.message).toContain('connect to the primary')
    expect(await myId()).not.toBe(before)
    expect(await run(connection, add, [key], ['1'])).toBe(2)
  })

  it('closing ends what is under way and what comes after', async () => {
    const connection = connect()
    const waiting = connection.send('waiting', ['BLPOP', keysOf('x').of('never'), '0'], { blockMs: 60_000 })
    await connection.close()
    await connection.close()
    await expect(waiting).rejects.toThrow(StoreClosedError)
    await expect(connection.send('asking', ['PING'])).rejects.toThrow(StoreClosedError)
  })
})

describe('how a server is named', () => {
  it('F7: url or client, one of the two, and a URL that can be used', () => {
    expect(() => resolveConnection('test', {})).toThrow(/neither url nor client/)
    expect(() => resolveConnection('test', { url: 'http://user:secret@x' })).toThrow(/redis:\/\//)
    expect(() => resolveConnection('test', { url: 'http://user:secret@x' })).not.toThrow(/secret/)
  })

  it('E11: all keys of a prefix lie in one slot, whatever the prefix is', () => {
    expect(keysOf('lazaret').of('letters', 'a')).toBe('{lazaret}:letters:a')
    expect(keysOf('a{b}', 'c').of('x')).toBe('{a_b_:c}:x')
  })
})
