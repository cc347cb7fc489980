// A process that consumes a channel of a database until it is killed or told to stop. It says when a handler runs, and
// when its event is acknowledged.
import { openSqlite } from '../../src/adapters/sqlite/index.ts'
import type { Observer } from '../../src/ports/observer.ts'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'
import { writeLine } from '../support/write-line.ts'

const [path = '', leaseMs = '200'] = process.argv.slice(2)

const store = openSqlite({ path, leaseMs: Number(leaseMs), maxPollMs: 10 })

function print(...words: string[]): void {
  writeLine(words.join(' '))
}

const observer: Observer = {
  settlementFailed: ({ error }) => print('unsettled', JSON.stringify(String(error))),
}

const consumer = createConsumer({
  broker: settledAloud(store.broker),
  deadLetters: store.deadLetters,
  ledger: store.ledger,
  channel: 'orders',
  name: 'bill',
  concurrency: 8,
  // Every kill would count against the events that were being handled.
  poison: 'off',
  retry: { attempts: 1_000 },
  timeoutMs: 400,
  leaseMs: 500,
  observer,
  async handle(event) {
    print('handled', event.id)
  },
})

/** The same broker, saying which events it has acknowledged. */
function settledAloud(broker: typeof store.broker): typeof store.broker {
  const quiet = broker.subscribe.bind(broker)
  const subscribe: typeof broker.subscribe = async (options, deliver) => {
    const subscription = await quiet(options, deliver)
    const settle = subscription.settle.bind(subscription)
    subscription.settle = async (delivery, settlement) => {
      await settle(delivery, settlement)
      if (settlement.outcome === 'done' && 'id' in delivery.content) print('settled', delivery.content.id)
    }
    return subscription
  }
  return Object.assign(broker, { subscribe })
}

process.on('SIGTERM', () => {
  consumer.close().then(() => store.close(), process.exit)
})
await consumer.start()
print('started')
