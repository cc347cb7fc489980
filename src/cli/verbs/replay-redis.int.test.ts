import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { findRedis } from '../../../test/services/redis.ts'
import { cliWorld } from '../../../test/support/cli.ts'
import { withTempFolder } from '../../../test/support/folder.ts'
import { connectRedis, redisStreams } from '../../adapters/redis/index.ts'
import { systemClock } from '../../ports/clock.ts'
import { createConsumer } from '../../runtime/consumer/consumer.ts'
import { createEvent } from '../../runtime/create-event.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'

const found = await findRedis()
const server = found.found ? await found.start() : undefined
afterAll(() => server?.close())

describe.runIf(found.found)('letters of Redis Streams in a Redis store', { timeout: 60_000 }, () => {
  it('B18: go back to the stream that the config names, and only then', () =>
    withTempFolder(async cwd => {
      const prefix = uniqueName('replay')
      const url = `${server!.url}/0?prefix=${prefix}`
      const store = await connectRedis(url)
      const broker = redisStreams({ url })
      const saved = Promise.withResolvers<void>()
      const handled: string[] = []
      let isBroken = true
      const consumer = createConsumer({
        broker,
        channel: 'orders',
        deadLetters: store.deadLetters,
        retry: { attempts: 1 },
        breaker: 'off',
        leaveOpen: true,
        observer: { letterSaved: () => saved.resolve() },
        handle: async ({ id }) => {
          if (isBroken) throw new Error('out of order')
          handled.push(id)
        },
      })
      await consumer.start()
      const event = createEvent({ channel: 'orders', type: 'order.placed' })
      await broker.publish([event])
      await saved.promise
      isBroken = false
      const { lazaretWith } = cliWorld(cwd)
      const lazaret = (...argv: string[]) =>
        lazaretWith({ clock: systemClock, env: { SERVER: server!.url } }, 'replay', ...argv, '--store', url)
      const plan = ['plan', '--reason', 'fixed', '--json']
      expect(await lazaret(...plan)).toMatchObject({ code: 1, out: '' })
      const config = `brokers: { redis: { url: "\${SERVER}", prefix: ${prefix} } }\n`
      await writeFile(join(cwd, 'lazaret.yaml'), config)
      const { id } = (await lazaret(...plan)).json[0]
      const { code, json } = await lazaret('start', id, '--json')
      expect({ code, json }).toMatchObject({
        code: 0,
        json: [{ state: 'finished', outcomes: { recovered: 1 } }],
      })
      expect(handled).toEqual([event.id])
      await consumer.close()
      await broker.close()
      await store.close()
    }))
})
