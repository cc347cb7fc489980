import { openSqlite } from '../../src/adapters/sqlite/index.ts'
import { systemClock } from '../../src/ports/clock.ts'
import { createFactory } from '../../src/testing/factories.ts'

const CHANNELS = ['orders', 'payments', 'mails', 'stock']
const ERRORS = ['connect ECONNREFUSED 10.0.0.7:5432', 'amount is not a number', 'upstream answered 503']
const AT_ONCE = 500

/** Fills a SQLite file with letters of a few channels and causes, the last one newest. */
export async function fillSqlite(path: string, count: number): Promise<void> {
  const store = openSqlite({ path, clock: systemClock })
  await store.ready()
  const make = createFactory({ clock: systemClock })
  const errors = ERRORS.map(message => Object.assign(new Error(message), { stack: `Error: ${message}` }))
  try {
    for (let from = 0; from < count; from += AT_ONCE) {
      const letters = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, index) => {
        const number = from + index
        const event = make.event({
          channel: CHANNELS[number % CHANNELS.length]!,
          payload: { number, card: '4111111111111111' },
        })
        const at = systemClock.now() - (count - number)
        return make.letter({
          event,
          at,
          error: errors[number % errors.length],
          origin: { broker: store.broker!.name },
        })
      })
      await Promise.all(letters.map(letter => store.deadLetters.send(letter)))
    }
  } finally {
    await store.close()
  }
}
