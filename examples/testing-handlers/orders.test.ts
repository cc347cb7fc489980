import { memoryBroker } from 'lazaret/memory'
import { createFactory, FakeClock, Recorder, recordingDeadLetters, seededRandom } from 'lazaret/testing'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createOrders, type Warehouse } from './orders.ts'

const REFUSED = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })

function setUp() {
  const clock = new FakeClock()
  const random = seededRandom(7)
  const broker = memoryBroker({ clock })
  const deadLetters = recordingDeadLetters()
  const recorder = new Recorder()
  const reserve = vi.fn<Warehouse['reserve']>(async () => {})
  const warehouse = { reserve }
  const orders = createOrders({ broker, deadLetters, warehouse, clock, random, observer: recorder.observer })
  const factory = createFactory({ clock, random })
  const place = (payload: object) => broker.publish([factory.event({ channel: 'orders', payload })])
  return { clock, deadLetters, recorder, reserve, orders, place }
}

let test: ReturnType<typeof setUp>
beforeEach(async () => {
  test = setUp()
  await test.orders.start()
})
afterEach(() => test.orders.close())

it('reserves what was ordered', async () => {
  await test.place({ orderId: 'A1', total: 12 })
  await test.clock.advance(0)
  expect(test.reserve).toHaveBeenCalledWith({ orderId: 'A1', total: 12 }, expect.any(AbortSignal))
})

it('tries again after 1 s when the warehouse refuses the connection', async () => {
  test.reserve.mockRejectedValueOnce(REFUSED)
  await test.place({ orderId: 'A1', total: 12 })
  await test.clock.advance(999)
  expect(test.reserve).toHaveBeenCalledTimes(1)
  await test.clock.advance(1)
  expect(test.reserve).toHaveBeenCalledTimes(2)
  expect(test.deadLetters.count).toBe(0)
})

it('keeps the order as a dead letter after three attempts', async () => {
  test.reserve.mockRejectedValue(REFUSED)
  await test.place({ orderId: 'A1', total: 12 })
  await test.clock.advance(60_000)
  expect(test.reserve).toHaveBeenCalledTimes(3)
  expect(test.deadLetters.last).toMatchObject({
    event: { payload: { orderId: 'A1' } },
    cycle: { reason: 'attempts_exhausted', category: 'transient' },
  })
})

it('does not retry an order with a total below zero', async () => {
  await test.place({ orderId: 'A1', total: -1 })
  await test.clock.advance(60_000)
  expect(test.recorder.count('retryScheduled')).toBe(0)
  expect(test.deadLetters.last?.cycle.reason).toBe('permanent')
})

it('aborts a reservation after 5 s and tries again', async () => {
  test.reserve.mockImplementationOnce(
    (_, signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  )
  await test.place({ orderId: 'A1', total: 12 })
  await test.clock.advance(4_999)
  expect(test.recorder.count('timedOut')).toBe(0)
  await test.clock.advance(2_000)
  expect(test.recorder.count('timedOut')).toBe(1)
  expect(test.reserve).toHaveBeenCalledTimes(2)
})

it('opens the breaker after five failures in a row', async () => {
  test.reserve.mockRejectedValue(REFUSED)
  for (const orderId of ['A1', 'A2', 'A3', 'A4', 'A5']) await test.place({ orderId, total: 12 })
  await test.clock.advance(0)
  expect(test.orders.health().breakerState).toBe('open')
})
