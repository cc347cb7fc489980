import { describe, expect, it } from 'vitest'
import { rabbitmqWorld } from '../../../test/support/rabbitmq-world.ts'
import { type Clock, systemClock } from '../../ports/clock.ts'
import { Inbox } from '../../testing/conformance/broker/world.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'
import { rabbitmq } from './index.ts'

const { found, url, why, timing, make } = await rabbitmqWorld()
const TEN_MINUTES_MS = 600_000

/** The real clock, whose wall time can be set as NTP sets it. */
class SettableClock implements Clock {
  offsetMs = 0
  readonly schedule = systemClock.schedule
  now(): number {
    return systemClock.now() + this.offsetMs
  }
  monotonic(): number {
    return systemClock.monotonic!()
  }
}

const CASES = (['none', 'by-key'] as const).flatMap(ordering =>
  (['while it was written', 'after it was written'] as const).map(when => ({ ordering, when })),
)

describe.runIf(found.found)(`RabbitMQ retries and the wall clock${why}`, () => {
  it.each(CASES)(
    'B3: with ordering $ordering a retry comes in its time although the clock was set back ten minutes $when',
    async ({ ordering, when }) => {
      const channel = uniqueName('clock')
      const clock = new SettableClock()
      const broker = rabbitmq({ url, clock })
      const inbox = new Inbox(timing)
      const options = { channel, handler: channel, prefetch: 10, ordering } as const
      inbox.subscription = await broker.subscribe(options, delivery => inbox.receive(delivery))
      await broker.publish([make.event({ channel, key: 'k' })])
      const delivery = await inbox.next()
      const startedAt = systemClock.monotonic!()
      const notBefore = clock.now() + 730
      const settled = inbox.subscription.settle(delivery, { outcome: 'retry', notBefore, ended: [] })
      if (when === 'after it was written') await settled
      clock.offsetMs = -TEN_MINUTES_MS
      await settled
      const again = await inbox.next()
      expect(systemClock.monotonic!() - startedAt).toBeGreaterThanOrEqual(729)
      await inbox.done(again)
      await broker.close()
    },
  )

  it('B3: a host whose clock is ten minutes ahead does not shorten the wait that another asked for', async () => {
    const channel = uniqueName('clock')
    const asking = rabbitmq({ url })
    const inbox = new Inbox(timing)
    const options = { channel, handler: channel, prefetch: 10, ordering: 'none' } as const
    inbox.subscription = await asking.subscribe(options, delivery => inbox.receive(delivery))
    await asking.publish([make.event({ channel })])
    const delivery = await inbox.next()
    const startedAt = systemClock.monotonic!()
    const notBefore = systemClock.now() + 730
    await inbox.subscription.settle(delivery, { outcome: 'retry', notBefore, ended: [] })
    await asking.close()
    const clock = new SettableClock()
    clock.offsetMs = TEN_MINUTES_MS
    const ahead = rabbitmq({ url, clock })
    const second = new Inbox(timing)
    second.subscription = await ahead.subscribe(options, each => second.receive(each))
    const again = await second.next()
    expect(systemClock.monotonic!() - startedAt).toBeGreaterThanOrEqual(729)
    await second.done(again)
    await ahead.close()
  })
})
