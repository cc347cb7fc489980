// Many processes of a fleet in one, on Postgres, Redis or a SQLite file: each has its own store with its own connections, three consumers and two sinks. Prints a
// line when all have joined, and leaves the fleet when it is told to end.
import { memoryBroker, memoryDeadLetters, memorySink } from '../../src/adapters/memory/index.ts'
import { openPostgres } from '../../src/adapters/postgres/index.ts'
import { openRedis } from '../../src/adapters/redis/index.ts'
import { openSqlite } from '../../src/adapters/sqlite/index.ts'
import { createConsumer, createDispatcher, createEvent, joinFleet } from '../../src/index.ts'
import { delay, systemClock } from '../../src/ports/clock.ts'

const CHANNELS = { orders: 'bill', payments: 'capture', returns: 'refund' }
const PER_SERVICE = 50
/** Processes that start at the same time, so that the server can accept their connections. */
const AT_ONCE = 20

const [url = '', count = ''] = process.argv.slice(2)

function openStore() {
  if (url.startsWith('postgres:')) return openPostgres({ url })
  return url.startsWith('redis:') ? openRedis({ url }) : openSqlite({ path: url })
}

async function join(number: number): Promise<() => Promise<void>> {
  const store = openStore()
  const broker = memoryBroker({ name: 'rabbitmq' })
  const deadLetters = memoryDeadLetters()
  const consumers = Object.entries(CHANNELS).map(([channel, name]) =>
    createConsumer({ broker, channel, name, deadLetters, leaveOpen: true, handle: () => {} }),
  )
  const sinks = { crm: memorySink(), analytics: memorySink() }
  const dispatcher = createDispatcher({ sinks, deadLetters, leaveOpen: true })
  for (const consumer of consumers) await consumer.start()
  await broker.publish(
    Object.keys(CHANNELS).map(channel => createEvent({ type: 'order.placed', channel, payload: { number } })),
  )
  await dispatcher.track({ type: 'order.placed', payload: { number } })
  const service = `service-${String(Math.floor(number / PER_SERVICE)).padStart(3, '0')}`
  const member = joinFleet({
    ...{ store, service, version: '2.14.1', release: '2026-11-16.3', consumers, dispatchers: [dispatcher] },
    onError: error => void process.stderr.write(`${number}: ${error}\n`),
  })
  return async () => {
    await member.close()
    await store.close()
  }
}

/** A busy server may not answer for a while. */
async function areAllListed(): Promise<boolean> {
  try {
    return (await own.fleet.list()).length >= leave.length
  } catch (error) {
    process.stderr.write(`${error}\n`)
    return false
  }
}

const own = openStore()
const leave: (() => Promise<void>)[] = []
while (leave.length < Number(count)) {
  const rest = Math.min(AT_ONCE, Number(count) - leave.length)
  leave.push(...(await Promise.all(Array.from({ length: rest }, (_, each) => join(leave.length + each)))))
  while (!(await areAllListed())) await delay(systemClock, 20)
}
await own.close()
process.stdout.write('joined\n')
process.once('SIGTERM', async () => {
  await Promise.all(leave.map(each => each()))
  process.exit()
})
