import { createClient } from 'redis'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { findRedis } from '../../../../test/services/redis.ts'
import { faultTests } from '../../../testing/conformance/broker/faults.ts'
import type { BrokerFault, FaultTarget } from '../../../testing/conformance/broker/suite.ts'
import { eventsKey } from './keys.ts'
import { redisStreams } from './streams.ts'

const redis = await findRedis()
const isOwn = redis.found && redis.isPrivate
const USER = 'service'
const closing: (() => unknown)[] = []
let url = ''
let send: (...words: string[]) => Promise<unknown> = async () => {}

beforeAll(async () => {
  if (!isOwn) return
  const server = await redis.start()
  const client = createClient({ url: server.url })
  await client.connect()
  send = (...words) => client.sendCommand(words)
  await send('ACL', 'SETUSER', USER, 'on', `>${USER}`, '~*', '&*', '+@all')
  const address = new URL(server.url)
  address.username = USER
  address.password = USER
  url = address.href
  closing.push(
    () => client.destroy(),
    () => server.close(),
  )
})
afterAll(async () => {
  for (const close of closing) await close()
})

const streamOf = ({ channel }: FaultTarget) => eventsKey('lazaret', channel)

const FAULTS: readonly BrokerFault[] = [
  {
    name: 'the stream is deleted',
    inject: async target => void (await send('DEL', streamOf(target))),
    recovery: 'automatic',
    losesEvents: true,
  },
  {
    name: 'the group is destroyed',
    inject: async target => void (await send('XGROUP', 'DESTROY', streamOf(target), target.handler)),
    recovery: 'automatic',
  },
  {
    name: 'the right to read and write is taken away',
    inject: async () => void (await send('ACL', 'SETUSER', USER, '-@all', '+@connection')),
    undo: async () => void (await send('ACL', 'SETUSER', USER, '+@all')),
    recovery: 'after-undo',
    reports: 'deliveries',
    refusesPublishing: true,
  },
]

describe.runIf(isOwn)(`Redis Streams in fault${isOwn ? '' : ' (skipped: no private server)'}`, () => {
  faultTests({
    test: it,
    declares: { delay: true, keyOrder: false, deadLetters: true, durable: true },
    faults: FAULTS,
    setup: async () => ({ broker: redisStreams({ url, maxPollMs: 200 }) }),
  })
})
