import { describe, expect, it } from 'vitest'
import { ChaosProxy } from '../../../test/chaos/proxy.ts'
import { rabbitmqWorld } from '../../../test/support/rabbitmq-world.ts'
import { fixed } from '../../core/retry/fixed.ts'
import { createConsumer } from '../../runtime/consumer/consumer.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'
import { onChannel } from './broker/topology/declare.ts'
import { rabbitmq } from './index.ts'

const { found, outside, url, why, timing, make, subscribe } = await rabbitmqWorld()

describe.runIf(found.found)(`RabbitMQ in hard times${why}`, () => {
  it('B8: a suspect that is lost with its connection and goes to another does not keep the queue waiting', async () => {
    const channel = uniqueName('orders')
    const proxy = await ChaosProxy.to(url)
    const broker = rabbitmq({ url: proxy.through(url), queueType: 'classic' })
    const inbox = await subscribe(broker, channel)
    const headers = { 'lazaret-log': JSON.stringify({ isSuspected: true }) }
    await outside!.publish('', `${channel}.suspects`, Buffer.from('{}'), { headers, messageId: 'suspect' })
    await inbox.next()
    proxy.isDown = true
    proxy.cut()
    await timing.eventually(
      async () => (await outside!.take(`${channel}.suspects`)).length === 1,
      'another takes it',
    )
    proxy.isDown = false
    await outside!.publish('', channel, Buffer.from('{}'), { messageId: 'next' })
    const next = await inbox.next()
    expect(next.content).toMatchObject({ id: 'next' })
    await inbox.done(next)
    await broker.close()
    await proxy.close()
  })

  it('P2: a letter with more to tell than headers can hold leaves out the middle of its attempts', async () => {
    const channel = uniqueName('orders')
    const consumer = createConsumer({
      broker: rabbitmq({ url, queueType: 'classic' }),
      channel,
      retry: { attempts: 20, backoff: fixed({ delayMs: 1, jitter: 'none' }) },
      poison: 'off',
      breaker: 'off',
      handle: () => {
        throw Object.assign(new Error('残念'.repeat(1_000)), { code: 'ECONNRESET' })
      },
    })
    await consumer.start()
    await outside!.publish('', channel, Buffer.from('{}'), { messageId: 'talkative' })
    await timing.eventually(async () => (await outside!.depth(`${channel}.dlq`)) === 1, 'its letter is there')
    const [letter] = await outside!.letters(`${channel}.dlq`)
    expect(letter).toMatchObject({ event: { id: 'talkative' }, cycle: { attemptCount: 20 } })
    expect(letter!.cycle.attempts.length).toBeGreaterThan(1)
    await consumer.close()
  })

  it('F3: what others wrote goes on through retries, without what cannot: names, copies, numbers beyond writing', async () => {
    const channel = uniqueName('orders')
    await onChannel(outside!.connection, each =>
      each.assertQueue(`${channel}.audit`, { durable: true, arguments: {} }),
    )
    const broker = rabbitmq({ url, queueType: 'classic' })
    const inbox = await subscribe(broker, channel)
    const headers = {
      share: { '!': 'double', value: -1e300 },
      CC: [`${channel}.audit`],
      table: { a: 1 },
      word: 'kept',
    }
    await outside!.publish('', channel, Buffer.from('{}'), { messageId: 'odd', userId: 'guest', headers })
    const first = await inbox.next()
    await inbox.subscription.settle(first, { outcome: 'retry', notBefore: 0, ended: [make.attempt(1)] })
    const again = await inbox.next()
    expect(again).toMatchObject({ started: 1, ended: 1, content: { id: 'odd', headers: { word: 'kept' } } })
    await inbox.done(again)
    expect(await outside!.depth(`${channel}.audit`)).toBe(1)
    await broker.close()
  })
})
