import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { createEvent } from 'lazaret'
import { rabbitmq } from 'lazaret/rabbitmq'
import { loadConfig } from './config.ts'

// Sends what the service of the accounts would: so many users that register, are renamed, and of which every third
// goes again. With `bad`, one event that no retry can help.
const [count = '3', bad] = process.argv.slice(2)
const { service } = loadConfig(fileURLToPath(new URL('profile-service.yaml', import.meta.url)))
const { channel } = service
const broker = rabbitmq(service.rabbitmq)
const event = (type: string, payload: object) => createEvent({ channel, type, payload })

const events = Array.from({ length: Number(count) }, (_, n) => {
  const userId = randomUUID()
  const email = `user-${n}@example.com`
  return [
    event('user.registered', { userId, email, displayName: `User ${n}`, version: 1 }),
    event('user.updated', { userId, email, displayName: `User ${n}, renamed`, version: 2 }),
    ...(n % 3 === 2 ? [event('user.deleted', { userId })] : []),
  ]
}).flat()
if (bad !== undefined) events.push(event('user.registered', { userId: 'nobody' }))

await broker.publish(events)
await broker.close()
process.stdout.write(`${events.length} events sent to ${channel}\n`)
