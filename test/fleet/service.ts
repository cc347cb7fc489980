// A service in a process of its own: a consumer on an SQLite file, in the fleet of that file.
import { openSqlite } from '../../src/adapters/sqlite/index.ts'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'
import { joinFleet } from '../../src/runtime/fleet/join-fleet.ts'

const [path = '', version = ''] = process.argv.slice(2)
const say = (line: string) => void process.stdout.write(`${line}\n`)

const store = openSqlite({ path })
const consumer = createConsumer({
  broker: store.broker,
  channel: 'orders',
  name: 'bill',
  deadLetters: store.deadLetters,
  leaveOpen: true,
  observer: { consumerPaused: () => say('paused'), consumerResumed: () => say('resumed') },
  handle: () => {},
})
await consumer.start()
const member = joinFleet({ store, service: 'shop', version, consumers: [consumer], reportEveryMs: 3_000 })
say(`joined ${member.id}`)
process.once('SIGTERM', async () => {
  await member.close()
  await consumer.close()
  await store.close()
})
