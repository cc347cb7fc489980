import { afterAll, describe, it } from 'vitest'
import { findRabbitmq } from '../../../test/services/rabbitmq.ts'
import { RabbitmqAdmin } from '../../../test/support/rabbitmq.ts'
import { brokerConformance } from '../../testing/conformance/broker.ts'
import { rabbitmq } from './index.ts'

const found = await findRabbitmq()
const server = found.found ? await found.start() : undefined
const outside = server && (await RabbitmqAdmin.at(server.url))
afterAll(async () => {
  await outside?.close()
  await server?.close()
})
const why = found.found ? '' : ` (skipped: ${found.why})`

describe.runIf(found.found).each(['quorum', 'classic'] as const)(
  `RabbitMQ broker, %s queues${why}`,
  queueType => {
    brokerConformance({
      test: it,
      declares: { delay: true, keyOrder: true, deadLetters: true, durable: true },
      canPublishRaw: true,
      canReadLetters: true,
      async setup() {
        const open = () => rabbitmq({ url: server!.url, queueType })
        return {
          broker: open(),
          reopen: async () => open(),
          publishRaw: (channel, raw) =>
            outside!.publish('', `${channel}.bill`, Buffer.from(raw), { contentType: 'application/json' }),
          keptLetters: channel => outside!.letters(`${channel}.bill.dlq`),
        }
      },
    })
  },
)
