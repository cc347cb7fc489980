import 'reflect-metadata'
import { NestFactory } from '@nestjs/core'
import { memoryBroker, memoryDeadLetters } from 'lazaret/memory'
import { createFactory } from 'lazaret/testing'
import { expect, it } from 'vitest'
import { type Order, OrdersConsumer, Warehouse } from './orders.consumer.ts'
import { ORDERS_STORE, ordersModule } from './orders.module.ts'

const { event } = createFactory()

async function startApplication() {
  const { promise: reserved, resolve } = Promise.withResolvers<Order>()
  class StubWarehouse extends Warehouse {
    async reserve(order: Order): Promise<void> {
      resolve(order)
    }
  }
  const broker = memoryBroker()
  let isClosed = false
  const store = {
    broker,
    deadLetters: memoryDeadLetters(),
    close: async () => {
      isClosed = true
      await broker.close()
    },
  }
  const app = await NestFactory.createApplicationContext(ordersModule(store, StubWarehouse), {
    logger: false,
  })
  return { app, store, reserved, isClosed: () => isClosed }
}

it('starts the consumer with the application', async () => {
  const { app, reserved } = await startApplication()
  const { broker } = app.get(ORDERS_STORE)
  await broker.publish([event({ payload: { orderId: 'A1', total: 12 } })])
  expect(await reserved).toEqual({ orderId: 'A1', total: 12 })
  await app.close()
})

it('closes the consumer, then the store, with the application', async () => {
  const { app, isClosed } = await startApplication()
  const orders = app.get(OrdersConsumer)
  expect(orders.health().channel).toBe('orders')
  await app.close()
  expect(isClosed()).toBe(true)
})
