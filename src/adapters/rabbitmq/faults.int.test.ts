import { afterAll, describe, it } from 'vitest'
import { findRabbitmq } from '../../../test/services/rabbitmq.ts'
import { RabbitmqAdmin } from '../../../test/support/rabbitmq.ts'
import { addUser, rabbitmqFaults, USER } from '../../../test/support/rabbitmq-faults.ts'
import { faultTests } from '../../testing/conformance/broker/faults.ts'
import { rabbitmq } from './index.ts'

const found = await findRabbitmq()
const isOwn = found.found && found.isPrivate
const server = isOwn ? await found.start() : undefined
const outside = server && (await RabbitmqAdmin.at(server.url))
if (server !== undefined) await addUser(server.node!)
afterAll(async () => {
  await outside?.close()
  await server?.close()
})

describe.runIf(isOwn).each(['quorum', 'classic'] as const)(
  `RabbitMQ broker in fault, %s queues${isOwn ? '' : ' (skipped: no private server)'}`,
  queueType => {
    faultTests({
      test: it,
      declares: { delay: true, keyOrder: true, deadLetters: true, durable: true },
      faults: isOwn ? rabbitmqFaults(server!.node!, outside!) : [],
      async setup() {
        const url = new URL(server!.url)
        url.username = USER
        url.password = USER
        return { broker: rabbitmq({ url: url.href, queueType }) }
      },
    })
  },
)
