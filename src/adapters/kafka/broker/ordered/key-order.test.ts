import { expect, it, onTestFinished, vi } from 'vitest'
import { StallReporter } from '../../../../adapter-kit/delivery/stalls.ts'
import { FakeClock } from '../../../../testing/fake-clock.ts'
import type { SubscriptionContext } from '../consume/context.ts'
import { AssignedPartition } from '../consume/partition.ts'
import { type HeldEvent, HeldTopic } from './held-topic.ts'
import { KeyOrder } from './key-order.ts'

/** The order of a partition whose held events are read when the test says so. */
function opening() {
  const reading = Promise.withResolvers<readonly HeldEvent[]>()
  const read = vi.spyOn(HeldTopic.prototype, 'read').mockReturnValue(reading.promise)
  onTestFinished(() => read.mockRestore())
  const names = { channel: 'orders', held: 'orders.bill.held' }
  const context = {
    names,
    settings: { clock: new FakeClock() },
    stalls: new StallReporter(),
  } as unknown as SubscriptionContext
  const partition = new AssignedPartition({ topic: 'orders', topicId: 'id', partition: 0 }, undefined)
  const changed = vi.fn()
  const order = new KeyOrder(context, {
    add() {},
    changed,
    settled() {},
    hasRoom() {},
    partition: () => partition,
    topics: () => [partition],
  })
  onTestFinished(() => order.close())
  const opened = order.opened(partition)
  return { opened, partition, changed, found: () => reading.resolve([]) }
}

it('B9: an order is known when its held events are read', async () => {
  const { opened, changed, found } = opening()
  found()
  await opened
  expect(changed).toHaveBeenCalled()
})

it('B9: an order that is lost while it is read does not begin, because it is read again', async () => {
  const { opened, partition, changed, found } = opening()
  partition.orderLosses++
  found()
  await opened
  expect(changed).not.toHaveBeenCalled()
})
