import { kafkaCollector } from '../../src/adapters/kafka/index.ts'
import { optionsOfUrl } from '../../src/adapters/kafka/url.ts'
import { rabbitmqCollector } from '../../src/adapters/rabbitmq/index.ts'
import { openSqlite } from '../../src/adapters/sqlite/index.ts'
import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'
import { systemClock } from '../../src/ports/clock.ts'

// A process of its own that collects one queue or topic into a database: told by its arguments, it says on stdout how many
// letters the store has taken, and in how many milliseconds since the first of them came.
const [url = '', source = '', path = ''] = process.argv.slice(2)
const EVERY = 100

const store = openSqlite({ path })
await store.ready()
const { deadLetters } = store
const send = deadLetters.send.bind(deadLetters)
let saved = 0
let firstAt: number | undefined
// Every other method is the store's own, so that the collector can call all of them.
const counting = Object.assign(deadLetters, {
  async send(letter: DeadLetter) {
    firstAt ??= systemClock.now()
    await send(letter)
    if (++saved % EVERY === 0) process.stdout.write(`${saved} ${systemClock.now() - firstAt}\n`)
  },
})
const onError = (error: unknown) => process.stderr.write(`${error}\n`)
const collector = url.startsWith('kafka')
  ? kafkaCollector({ ...optionsOfUrl(url), topics: [source], onError })
  : rabbitmqCollector({ url, queues: [source], onError })
collector.start(counting)
process.on('SIGTERM', () => void collector.close().then(() => store.close()))
