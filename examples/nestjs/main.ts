import 'reflect-metadata'
import { NestFactory } from '@nestjs/core'
import { openSqlite } from 'lazaret/sqlite'
import { type Order, Warehouse } from './orders.consumer.ts'
import { ordersModule } from './orders.module.ts'

class HttpWarehouse extends Warehouse {
  async reserve(order: Order, signal: AbortSignal): Promise<void> {
    const body = JSON.stringify(order)
    const response = await fetch('http://warehouse:8080/reservations', { method: 'POST', body, signal })
    if (!response.ok) throw Object.assign(new Error('refused'), { status: response.status })
  }
}

const module = ordersModule(openSqlite({ path: 'shop.db' }), HttpWarehouse)
const app = await NestFactory.createApplicationContext(module)
// Without this call Nest runs no hook on SIGTERM, and the process ends in the middle of a handler.
app.enableShutdownHooks()
