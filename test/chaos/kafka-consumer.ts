import { kafka } from '../../src/adapters/kafka/index.ts'
import { consumeDeadlyEvents } from './deadly-consumer.ts'

const [brokers = '', channel = '', ordering = 'none', attempts = '5'] = process.argv.slice(2)

await consumeDeadlyEvents({
  broker: kafka({ brokers: brokers.split(','), heartbeatMs: 200 }),
  channel,
  name: 'bill',
  ordering: ordering as 'none' | 'by-key',
  retry: { attempts: Number(attempts) },
})
