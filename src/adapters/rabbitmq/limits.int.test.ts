import { connect } from 'amqplib'
import { describe, expect, it } from 'vitest'
import { rabbitmqWorld } from '../../../test/support/rabbitmq-world.ts'
import { eventOf } from '../../testing/conformance/broker/world.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'
import { OWN } from './broker/wire/headers.ts'
import { rabbitmq } from './index.ts'

const { found, outside, url, why, timing, make, subscribe } = await rabbitmqWorld()
const LIMIT = 5
const PREFETCH = 100

/** Publishes until it is refused. The server may take a few more than the limit; answers with those it took. */
async function fill(broker: ReturnType<typeof rabbitmq>, channel: string): Promise<string[]> {
  const taken: string[] = []
  for (;;) {
    const event = make.event({ channel })
    try {
      await broker.publish([event])
      taken.push(event.id)
    } catch (error) {
      expect(error).toMatchObject({ code: 'LAZARET_BROKER_FULL', retryable: true })
      return taken
    }
    expect(taken.length).toBeLessThan(100)
  }
}

describe.runIf(found.found)(`RabbitMQ queues with a limit${why}`, () => {
  it('K9: a full queue refuses what is published, and loses nothing that it took', async () => {
    const channel = uniqueName('full')
    const broker = rabbitmq({ url, maxLength: LIMIT })
    const taken = await fill(broker, channel)
    expect(taken.length).toBeGreaterThanOrEqual(LIMIT)
    const inbox = await subscribe(broker, channel, channel, PREFETCH)
    const deliveries = await inbox.take(taken.length)
    expect(deliveries.map(({ content }) => 'id' in content && content.id).sort()).toEqual([...taken].sort())
    await inbox.done(...deliveries)
    await timing.eventually(
      () =>
        broker.publish([make.event({ channel })]).then(
          () => true,
          () => false,
        ),
      'there is room again',
    )
    await broker.close()
  })

  it('K9: a full queue takes back what is retried', async () => {
    const channel = uniqueName('full')
    const broker = rabbitmq({ url, maxLength: LIMIT })
    const taken = await fill(broker, channel)
    const inbox = await subscribe(broker, channel, channel, PREFETCH)
    const deliveries = await inbox.take(taken.length)
    inbox.subscription.pause()
    await timing.eventually(async () => (await fill(broker, channel)).length === 0, 'the queue is full')
    const notBefore = 0
    await Promise.all(
      deliveries.map(each => inbox.subscription.settle(each, { outcome: 'retry', notBefore, ended: [] })),
    )
    inbox.subscription.resume()
    const seen = new Set<string>()
    while (!taken.every(id => seen.has(id))) {
      const delivery = await inbox.next()
      if ('id' in delivery.content) seen.add(delivery.content.id)
      await inbox.done(delivery)
    }
    await broker.close()
  })

  it.each(['quorum', 'classic'] as const)(
    'K9: a full dead-letter queue (%s) makes consumers wait, and drops no letter',
    async queueType => {
      const channel = uniqueName('letters')
      const broker = rabbitmq({ url, queueType, deadLetterMaxLength: LIMIT })
      const inbox = await subscribe(broker, channel, channel, PREFETCH)
      // A quorum queue may take some more than its limit.
      const count = LIMIT * 4
      await broker.publish(make.events(count, { channel }))
      let settled = 0
      const bury = async () => {
        for (const delivery of await inbox.take(count)) {
          const letter = make.letter({ event: eventOf(delivery), channel })
          await inbox.subscription.settle(delivery, { outcome: 'dead', letter, saved: false })
          settled++
        }
      }
      const burying = bury()
      await timing.eventually(() => settled >= LIMIT, 'the first letters are kept')
      await timing.quiet()
      expect(settled).toBeLessThan(count)
      const kept = new Set<string>()
      // Somebody collects them; then there is room for the others.
      await timing.eventually(async () => {
        for (const id of await outside!.take(`${channel}.dlq`)) kept.add(id)
        return kept.size === count
      }, 'all letters are kept')
      await burying
      await broker.close()
    },
  )

  it('K9: a limit on a classic queue is refused: it would drop retries', () => {
    expect(() => rabbitmq({ url: 'amqp://localhost', queueType: 'classic', maxLength: 5 })).toThrow(
      'a full classic queue drops returning retries',
    )
  })

  it('B9: with 2 100 blocked keys the other keys go on, also for the next owner', async () => {
    const channel = uniqueName('blocked')
    const broker = rabbitmq({ url })
    const first = await subscribe(broker, channel, channel, PREFETCH, 'by-key')
    await first.subscription.close()
    const connection = await connect(url)
    const writer = await connection.createConfirmChannel()
    for (let number = 1; number <= 2_100; number++) {
      const headers = { [OWN.place]: number, [OWN.key]: `key ${number}`, [OWN.deadEvent]: `dead ${number}` }
      writer.publish('', `${channel}.held`, Buffer.alloc(0), { headers })
    }
    await writer.waitForConfirms()
    await connection.close()
    const inbox = await subscribe(broker, channel, channel, PREFETCH, 'by-key')
    const [blocked, other] = [make.event({ channel, key: '7' }), make.event({ channel, key: 'other' })]
    await broker.publish([blocked, other])
    await inbox.done(await inbox.assertNextIs(other))
    await inbox.assertEmpty('a blocked key is delivered')
    await broker.unblockKey(channel, 'dead 7')
    await inbox.done(await inbox.assertNextIs(blocked))
    await broker.close()
  })
})

describe.runIf(found.found)(`RabbitMQ publishing${why}`, () => {
  it('E21: closing waits for what is being published', async () => {
    const channel = uniqueName('closing')
    const broker = rabbitmq({ url })
    await broker.publish(make.events(1, { channel }))
    const publishing = broker.publish(make.events(500, { channel }))
    await broker.close()
    await publishing
    expect(await outside!.depth(channel)).toBe(501)
  })
})
