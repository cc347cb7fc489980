import { rabbitmq } from '../../src/adapters/rabbitmq/index.ts'
import { consumeDeadlyEvents } from './deadly-consumer.ts'

const [url = '', channel = '', queueType = 'quorum', attempts = '5'] = process.argv.slice(2)

await consumeDeadlyEvents({
  broker: rabbitmq({ url, queueType: queueType as 'quorum' | 'classic' }),
  channel,
  retry: { attempts: Number(attempts) },
})
