// Publishes orders, every tenth of them too expensive: npx node examples/kafka/order.ts 100
import { createEvent } from 'lazaret'
import { kafka } from 'lazaret/kafka'

const count = Number(process.argv[2] ?? 100)
const channel = process.env['CHANNEL'] ?? 'orders'
const broker = kafka({
  brokers: (process.env['KAFKA_BROKERS'] ?? 'localhost:9092').split(','),
  partitions: 3,
})

const events = Array.from({ length: count }, (_, index) => {
  const payload = { orderId: index + 1, total: index % 10 === 9 ? 500 : 20 }
  return createEvent({ channel, type: 'order.placed', key: `order-${index + 1}`, payload })
})
await broker.publish(events)
await broker.close()
process.stdout.write(`sent ${count}\n`)
