import { nats } from '../../src/adapters/nats/index.ts'
import { consumeDeadlyEvents } from './deadly-consumer.ts'

const [url = '', channel = '', ordering = 'none', attempts = '5'] = process.argv.slice(2)

await consumeDeadlyEvents({
  broker: nats({ url, ackWaitMs: 2_000, leaseMs: 1_000 }),
  channel,
  name: 'bill',
  ordering: ordering as 'none' | 'by-key',
  retry: { attempts: Number(attempts) },
})
