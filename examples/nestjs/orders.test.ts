import 'reflect-metadata'
import { NestFactory } from '@nestjs/core'
import { memoryStore } from 'lazaret/memory'
import { LazaretConsumers, LazaretHealthIndicator, LazaretModule } from 'lazaret/nest'
import { createFactory } from 'lazaret/testing'
import { expect, it } from 'vitest'
import { OrdersService } from './orders.service.ts'
import { type Order, Warehouse } from './warehouse.ts'

const { event } = createFactory()

async function startApplication() {
  const { promise: reserved, resolve } = Promise.withResolvers<Order>()
  const store = memoryStore()
  const module = {
    module: class TestModule {},
    imports: [LazaretModule.forRoot({ store })],
    providers: [
      OrdersService,
      { provide: Warehouse, useValue: { reserve: async (order: Order) => resolve(order) } },
    ],
  }
  const app = await NestFactory.createApplicationContext(module, { logger: false })
  return { app, store, reserved }
}

it('starts the consumer with the application', async () => {
  const { app, store, reserved } = await startApplication()
  await store.broker?.publish([event({ channel: 'orders', payload: { orderId: 'A1', total: 12 } })])
  expect(await reserved).toEqual({ orderId: 'A1', total: 12 })
  expect(await app.get(LazaretHealthIndicator).check()).toMatchObject({ lazaret: { status: 'up' } })
  await app.close()
})

it('closes the consumer with the application', async () => {
  const { app } = await startApplication()
  const orders = app.get(LazaretConsumers).get('orders', 'reserve')
  await app.close()
  await expect(orders.start()).rejects.toMatchObject({ code: 'LAZARET_CLOSED' })
})
