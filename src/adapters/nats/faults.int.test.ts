import { afterAll, beforeAll, describe, it } from 'vitest'
import { findNats, type NatsService } from '../../../test/services/nats.ts'
import { OutsideNats } from '../../../test/support/outside-nats.ts'
import { faultTests } from '../../testing/conformance/broker/faults.ts'
import type { BrokerFault } from '../../testing/conformance/broker/suite.ts'
import { type ChannelStreams, streamsOf } from './broker/streams/names.ts'
import { nats } from './index.ts'

const found = await findNats()
const isOurs = found.found && found.isPrivate
const why = found.found ? ' (skipped: the server is not ours)' : ` (skipped: ${found.why})`
let service: NatsService
let outside: OutsideNats

beforeAll(async () => {
  if (!isOurs) return
  service = await found.start()
  outside = new OutsideNats(service.url)
})
afterAll(async () => {
  await outside?.close()
  await service?.close()
})

function deleted(kind: keyof ChannelStreams, losesEvents: boolean): BrokerFault {
  return {
    name: `the stream of ${kind} is deleted`,
    inject: async ({ channel }) => void (await outside.request(`STREAM.DELETE.${streamsOf(channel)[kind]}`)),
    recovery: 'automatic',
    losesEvents,
  }
}

/** The stream accepts no message until that is undone. */
function full(kind: keyof ChannelStreams, more: Partial<BrokerFault>): BrokerFault {
  const limit = async (channel: string, limits: object) => {
    const { config } = (await outside.jetstream.streamInfo(streamsOf(channel)[kind]))!
    await outside.request(`STREAM.UPDATE.${config.name}`, { ...config, ...limits })
  }
  return {
    name: `the stream of ${kind} is full`,
    inject: ({ channel }) => limit(channel, { max_bytes: 1 }),
    undo: ({ channel }) => limit(channel, { max_bytes: -1 }),
    recovery: 'after-undo',
    ...more,
  }
}

/** What operators and mistakes do to a server that services run on. */
const FAULTS: readonly BrokerFault[] = [
  deleted('events', true),
  deleted('retries', true),
  deleted('state', false),
  deleted('letters', false),
  full('events', { refusesPublishing: true }),
  full('retries', { reports: 'settlements' }),
  full('letters', { reports: 'letters' }),
  {
    name: 'the consumer of the handler is deleted',
    inject: async ({ channel, handler }) =>
      void (await outside.request(`CONSUMER.DELETE.${streamsOf(channel).events}.${handler}`)),
    recovery: 'automatic',
    losesEvents: true,
  },
  {
    name: 'the server is killed and started again',
    inject: async () => {
      await service.nodes[0]!.kill()
      await service.nodes[0]!.start()
    },
    recovery: 'automatic',
  },
]

describe.runIf(isOurs)(`NATS in fault${isOurs ? '' : why}`, () => {
  faultTests({
    test: it,
    declares: { delay: true, keyOrder: true, deadLetters: true, durable: true },
    faults: FAULTS,
    setup: async () => ({
      broker: nats({ url: service.url, publishTimeoutMs: 1_000, requestTimeoutMs: 1_000, ackWaitMs: 2_000 }),
    }),
  })
})
