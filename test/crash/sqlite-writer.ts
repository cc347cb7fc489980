// A process that writes dead letters into a database until it is killed, and says on its standard output what was
// acknowledged. Each line is written before the next step begins, so a line that its reader has seen is for certain.
import { writeSync } from 'node:fs'
import { openSqlite } from '../../src/adapters/sqlite/index.ts'
import { LazaretError } from '../../src/core/failure/errors.ts'
import { systemClock, systemRandom } from '../../src/ports/system-clock.ts'
import { createFactory } from '../../src/testing/factories.ts'

const [path = '', count = 'Infinity'] = process.argv.slice(2)
const IN_FLIGHT = 16

const make = createFactory({ clock: systemClock, random: systemRandom })
const store = openSqlite({ path })
const { deadLetters } = store
let left = Number(count)

function say(...words: string[]): void {
  writeSync(1, `${words.join(' ')}\n`)
}

/** One letter's life: sent, and then mostly changed or deleted. */
async function live(turn: number): Promise<void> {
  const event = make.event()
  const letter = make.letter({
    event: { ...event, payload: { id: event.id, filler: 'x'.repeat(turn % 900) } },
  })
  if (!(await step('sent', letter.id, () => deadLetters.send(letter)))) return
  if (turn % 3 === 1) {
    say('discarding', letter.id)
    const change = { to: 'discarded', at: systemClock.now() } as const
    await step('discarded', letter.id, () => deadLetters.change(letter.id, change))
  }
  if (turn % 3 === 2) {
    say('deleting', letter.id)
    await step('deleted', letter.id, () => deadLetters.delete(letter.id))
  }
}

async function step(done: string, id: string, work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work()
    say(done, id)
    return true
  } catch (error) {
    const code = error instanceof LazaretError ? error.code : 'UNEXPLAINED'
    say('failed', id, code, JSON.stringify(error instanceof Error ? error.message : error))
    return false
  }
}

await Promise.all(
  Array.from({ length: IN_FLIGHT }, async (_, lane) => {
    for (let turn = lane; left-- > 0; turn += IN_FLIGHT) await live(turn)
  }),
)
await store.close().catch(() => {})
say('closed')
