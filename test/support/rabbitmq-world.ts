import { afterAll } from 'vitest'
import type { Broker, SubscribeOptions } from '../../src/ports/broker.ts'
import { systemClock, systemRandom } from '../../src/ports/clock.ts'
import { Inbox } from '../../src/testing/conformance/broker/world.ts'
import { TestTiming } from '../../src/testing/conformance/harness.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { findRabbitmq } from '../services/rabbitmq.ts'
import { RabbitmqAdmin } from './rabbitmq.ts'

/** A server for the tests of one file, what is seen of it from outside, and what they wait and make events with. */
export async function rabbitmqWorld() {
  const found = await findRabbitmq()
  const server = found.found ? await found.start() : undefined
  const outside = server && (await RabbitmqAdmin.at(server.url))
  afterAll(async () => {
    await outside?.close()
    await server?.close()
  })
  const timing = new TestTiming({})
  return {
    found,
    server,
    outside,
    url: server?.url ?? '',
    why: found.found ? '' : ` (skipped: ${found.why})`,
    timing,
    make: createFactory({ clock: systemClock, random: systemRandom }),
    async subscribe(
      broker: Broker,
      channel: string,
      handler = channel,
      prefetch = 10,
      ordering: SubscribeOptions['ordering'] = 'none',
    ): Promise<Inbox> {
      const inbox = new Inbox(timing)
      const options = { channel, handler, prefetch, ordering }
      inbox.subscription = await broker.subscribe(options, delivery => inbox.receive(delivery))
      return inbox
    },
  }
}
