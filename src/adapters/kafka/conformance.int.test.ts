import { afterAll, describe, it } from 'vitest'
import { findKafka } from '../../../test/services/kafka.ts'
import { OutsideKafka } from '../../../test/support/outside-kafka.ts'
import { brokerConformance } from '../../testing/conformance/broker.ts'
import { kafka } from './index.ts'

const found = await findKafka()
const service = found.found ? await found.start() : undefined
const outside = service && new OutsideKafka(service.brokers)
afterAll(async () => {
  await outside?.close()
  await service?.close()
})
const why = found.found ? '' : ` (skipped: ${found.why})`

describe.runIf(found.found)(`Kafka broker${why}`, () => {
  brokerConformance({
    test: it,
    declares: { delay: true, keyOrder: true, deadLetters: true, durable: true },
    canPublishRaw: true,
    canReadLetters: true,
    sharesPartitions: true,
    async setup() {
      // On a machine that stands still for seconds, the broker is late with its heartbeats, and has no leaders for a while.
      const patient = { heartbeatMs: 100, drainMs: 500, connectTimeoutMs: 60_000 }
      const open = () => kafka({ brokers: service!.brokers, partitions: 4, ...patient })
      return {
        broker: open(),
        reopen: async () => open(),
        publishRaw: (channel, raw) => outside!.writeJson(channel, Buffer.from(raw)),
        keptLetters: channel => outside!.letters(`${channel}.bill.dlq`),
      }
    },
  })
})
