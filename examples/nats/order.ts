// Publishes orders, every tenth of them too expensive: npx node examples/nats/order.ts 100
import { createEvent } from 'lazaret'
import { nats } from 'lazaret/nats'

const count = Number(process.argv[2] ?? 100)
const channel = process.env['CHANNEL'] ?? 'orders'
const broker = nats({ url: process.env['NATS_URL'] ?? 'nats://localhost:4222' })

const events = Array.from({ length: count }, (_, index) => {
  const payload = { orderId: index + 1, total: index % 10 === 9 ? 500 : 20 }
  return createEvent({ channel, type: 'order.placed', key: `order-${index + 1}`, payload })
})
await broker.publish(events)
await broker.close()
process.stdout.write(`sent ${count}\n`)
