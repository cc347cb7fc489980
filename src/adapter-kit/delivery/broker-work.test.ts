import { describe, expect, it } from 'vitest'
import type { LazaretEvent } from '../../core/event/event.ts'
import { BrokerClosedError } from '../../ports/broker.ts'
import { createFactory } from '../../testing/factories.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { BrokerWork, type OpeningSubscription } from './broker-work.ts'

function subscriptionWith(open: () => Promise<void>, told: string[]): OpeningSubscription {
  const ignored = () => {}
  return {
    open,
    start: () => void told.push('started'),
    close: async () => void told.push('closed'),
    begin: ignored,
    settle: ignored,
    pause: ignored,
    resume: ignored,
  }
}

describe('the work of a broker', () => {
  it('close: a subscription that cannot be opened is closed, and its error is told', async () => {
    const told: string[] = []
    const work = new BrokerWork('orders', new FakeClock())
    const refused = subscriptionWith(() => Promise.reject(new Error('refused')), told)
    await expect(work.subscribe(refused)).rejects.toThrow('refused')
    expect(told).toEqual(['closed'])
  })

  it('close: a subscription whose broker is closed while it opens never starts', async () => {
    const told: string[] = []
    const work = new BrokerWork('orders', new FakeClock())
    const opening = Promise.withResolvers<void>()
    const subscribed = work.subscribe(subscriptionWith(() => opening.promise, told))
    const closed = work.close(async () => {})
    opening.resolve()
    await expect(subscribed).rejects.toBeInstanceOf(BrokerClosedError)
    await closed
    expect(told).not.toContain('started')
    expect(() => work.requireOpen()).toThrow(BrokerClosedError)
  })

  it('close: closing waits for publishes, for five seconds at most, and disconnects once', async () => {
    const clock = new FakeClock()
    const work = new BrokerWork('orders', clock)
    const publishing = Promise.withResolvers<void>()
    const published = work.publish([], () => publishing.promise)
    let disconnected = 0
    const disconnect = async () => void disconnected++
    const closed = Promise.all([work.close(disconnect), work.close(disconnect)])
    await clock.advance(4_999)
    expect(disconnected).toBe(0)
    await clock.advance(1)
    await closed
    expect(disconnected).toBe(1)
    publishing.resolve()
    await published
  })

  it('close: closing goes on as soon as the last publish has ended, even if it failed', async () => {
    const work = new BrokerWork('orders', new FakeClock())
    const publishing = Promise.withResolvers<void>()
    const published = work.publish([], () => publishing.promise)
    const closed = work.close(async () => {})
    publishing.reject(new Error('refused'))
    await expect(published).rejects.toThrow('refused')
    await closed
  })

  it('publish: refuses wrong channels and sends nothing after close; copied replay headers are removed', async () => {
    const work = new BrokerWork('orders', new FakeClock())
    const sent: LazaretEvent[] = []
    const send = async (events: readonly LazaretEvent[]) => void sent.push(...events)
    const factory = createFactory()
    const copied = factory.event({
      headers: { 'x-original-id': 'other', 'x-replay-handler': 'bill', trace: 'kept' },
    })
    await work.publish([copied], send)
    expect(sent.map(({ headers }) => headers)).toEqual([{ trace: 'kept' }])
    await expect(work.publish([{ ...factory.event(), channel: '../etc' }], send)).rejects.toThrow(
      'channel: got "../etc"',
    )
    await work.close(async () => {})
    await expect(work.publish([factory.event()], send)).rejects.toBeInstanceOf(BrokerClosedError)
    expect(sent).toHaveLength(1)
  })
})
