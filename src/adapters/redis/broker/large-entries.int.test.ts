import { describe, expect, it } from 'vitest'
import { ChaosProxy } from '../../../../test/chaos/proxy.ts'
import { redisStreamsWorld } from '../../../../test/support/redis-streams-world.ts'
import type { SubscriptionStatus } from '../../../ports/broker.ts'
import { Inbox, idOf, idsOf } from '../../../testing/conformance/broker/world.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'
import type { RedisStreams } from './streams.ts'

const { isOurs, why, node, url, timing, make, open } = await redisStreamsWorld()
const UNLIMITED = 'normal 0 0 0'
const FAST = { leaseMs: 600, maxPollMs: 50, reconnectBaseMs: 1, reconnectMaxMs: 5 }

/** The server closes a connection for which it holds more bytes than this. */
const limitReplies = (limit: string) => node.command('CONFIG', 'SET', 'client-output-buffer-limit', limit)

async function subscribe(broker: RedisStreams, channel: string, prefetch = 10) {
  const inbox = new Inbox(timing)
  const statuses: SubscriptionStatus[] = []
  inbox.subscription = await broker.subscribe(
    { channel, handler: 'bill', prefetch, ordering: 'none' },
    delivery => inbox.receive(delivery),
    status => statuses.push(status),
  )
  return { inbox, statuses }
}

describe.runIf(isOurs)(`Redis Streams with large entries${why}`, () => {
  it('P2: entries of which the server can send one and not ten are read in smaller portions', async () => {
    const channel = uniqueName('portions')
    const broker = open(FAST)
    const events = make.events(30, { channel, payload: 'x'.repeat(100_000) })
    await broker.publish(events)
    await limitReplies('normal 300kb 0 0')
    const { inbox } = await subscribe(broker, channel)
    const ids: string[] = []
    while (ids.length < events.length) {
      const delivery = await inbox.next()
      ids.push(idOf(delivery))
      await inbox.done(delivery)
    }
    await limitReplies(UNLIMITED)
    expect(new Set(ids)).toEqual(new Set(events.map(({ id }) => id)))
  })

  it.each(['the channel', 'the handler'])(
    'P2: an entry in the stream of %s that the server cannot send is reported, holds up no other, and is delivered when it can be sent',
    async stream => {
      const channel = uniqueName('unreadable')
      const errors: unknown[] = []
      const broker = open({ ...FAST, onError: error => errors.push(error) })
      const [large] = make.events(1, { channel, payload: 'x'.repeat(1_000_000) })
      const others = make.events(30, { channel })
      await broker.publish(others.slice(0, 5))
      if (stream === 'the channel') await broker.publish([large!])
      else await node.command('XADD', `{lazaret:${channel}}:own:bill`, '*', 'event', JSON.stringify(large))
      await broker.publish(others.slice(5))
      await limitReplies('normal 300kb 0 0')
      const { inbox, statuses } = await subscribe(broker, channel)
      const ids: string[] = []
      while (ids.length < others.length) {
        const delivery = await inbox.next()
        ids.push(idOf(delivery))
        await inbox.done(delivery)
      }
      expect(new Set(ids)).toEqual(new Set(others.map(({ id }) => id)))
      const isReported = () => statuses.at(-1)?.state === 'stalled'
      await timing.eventually(isReported, 'the entry is reported')
      expect(statuses.at(-1)).toMatchObject({
        place: 'deliveries',
        error: {
          message: expect.stringMatching(/entry \d+-0 of \{lazaret:.*client-output-buffer-limit.*XACK/),
        },
      })
      const failed = errors.length
      await timing.pass(500)
      expect(errors.length - failed).toBeLessThan(5)
      await limitReplies(UNLIMITED)
      expect(idOf(await inbox.next())).toBe(large!.id)
      await timing.eventually(() => statuses.at(-1)?.state === 'recovered', 'the report is withdrawn')
    },
  )

  it('P2: an entry that cannot be sent and that a person acknowledges is reported no more', async () => {
    const channel = uniqueName('removed')
    const broker = open(FAST)
    await broker.publish(make.events(1, { channel, payload: 'x'.repeat(1_000_000) }))
    await limitReplies('normal 300kb 0 0')
    const { inbox, statuses } = await subscribe(broker, channel, 1)
    await timing.eventually(() => statuses.at(-1)?.state === 'stalled', 'the entry is reported')
    const message = () => (statuses.at(-1) as { error: Error }).error.message
    await timing.eventually(() => message().includes('XACK'), 'the report names the remedy')
    const [, command] = /: (XACK .*)$/.exec(message())!
    await node.command(...(command!.split(' ') as [string]))
    await timing.eventually(() => statuses.at(-1)?.state === 'recovered', 'the report is withdrawn')
    const [next] = make.events(1, { channel })
    await broker.publish([next!])
    expect(idOf(await inbox.next())).toBe(next!.id)
    await limitReplies(UNLIMITED)
  })

  it('P2: an entry whose transfer takes longer than a call may take is reported, and holds up no other', async () => {
    const channel = uniqueName('slow')
    const proxy = await ChaosProxy.to(url)
    const publisher = open()
    const [large, small] = [make.event({ channel, payload: 'x'.repeat(1_000_000) }), make.event({ channel })]
    await publisher.publish([large, small])
    proxy.bytesPerSecond = 200_000
    const broker = open({ ...FAST, leaseMs: 2_000, url: proxy.through(url), timeoutMs: 300 })
    const { inbox, statuses } = await subscribe(broker, channel)
    expect(idsOf([await inbox.next()])).toEqual([small.id])
    await timing.eventually(() => statuses.at(-1)?.state === 'stalled', 'the entry is reported')
    await broker.close()
    await proxy.close()
  })
})
