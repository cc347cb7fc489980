import { createClient } from 'redis'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { findRedis } from '../../../../test/services/redis.ts'
import type { BrokerTrouble, TroubledPlace } from '../../../testing/conformance/broker/suite.ts'
import { troubleTests } from '../../../testing/conformance/broker/troubles.ts'
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

const streamOf = ({ channel }: TroubledPlace) => eventsKey('lazaret', channel)

const TROUBLES: readonly BrokerTrouble[] = [
  {
    name: 'the stream is deleted',
    cause: async place => void (await send('DEL', streamOf(place))),
    expect: 'heals',
    losesEvents: true,
  },
  {
    name: 'the group is destroyed',
    cause: async place => void (await send('XGROUP', 'DESTROY', streamOf(place), place.handler)),
    expect: 'heals',
  },
  {
    name: 'the right to read and write is taken away',
    cause: async () => void (await send('ACL', 'SETUSER', USER, '-@all', '+@connection')),
    undo: async () => void (await send('ACL', 'SETUSER', USER, '+@all')),
    expect: 'recovers',
    tells: 'deliveries',
    refusesPublishing: true,
  },
]

describe.runIf(isOwn)(`Redis Streams in trouble${isOwn ? '' : ' (skipped: no private server)'}`, () => {
  troubleTests({
    test: it,
    declares: { delay: true, keyOrder: false, deadLetters: true, durable: true },
    troubles: TROUBLES,
    setup: async () => ({ broker: redisStreams({ url, maxPollMs: 200 }) }),
  })
})
