import { expect, it } from 'vitest'
import { memoryBroker } from '../adapters/memory/broker/broker.ts'
import type { Broker } from '../ports/broker.ts'
import { createFactory } from '../testing/factories.ts'
import { tracedBroker } from './traced-broker.ts'

const unused = (): never => {
  throw new Error('nothing is published here')
}

function traced(broker: Broker): Broker {
  return tracedBroker(broker, {
    publish: unused,
    follow: unused,
    call: unused,
    write: unused,
    context: unused,
  })
}

it('K7: a traced broker counts and says its kind where its broker does, and nowhere else', async () => {
  const broker = memoryBroker()
  const deadLetterDepths = async () => [{ queue: 'orders.dlq', depth: 3 }]
  await broker.publish([createFactory().event()])
  expect(await traced(broker).depth?.('orders', 'bill')).toBe(1)
  expect(traced(broker).deadLetterDepths).toBeUndefined()
  expect([traced(broker).kind, traced(without(broker)).kind]).toEqual(['memory', undefined])
  expect(traced({ ...without(broker), deadLetterDepths }).depth).toBeUndefined()
  expect(await traced({ ...without(broker), deadLetterDepths }).deadLetterDepths?.('orders', 'bill')).toEqual(
    [{ queue: 'orders.dlq', depth: 3 }],
  )
})

/** The broker without the members that a broker may lack. */
function without(broker: Broker): Broker {
  const { name, capabilities } = broker
  return {
    name,
    capabilities,
    publish: events => broker.publish(events),
    subscribe: (...how) => broker.subscribe(...how),
    unblockKey: (...which) => broker.unblockKey(...which),
    close: () => broker.close(),
  }
}
