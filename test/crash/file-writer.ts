// A process that writes dead letters until it is killed, and says on its standard output what was acknowledged. Each
// line is written before the next step begins, so a line that its reader has seen was acknowledged for certain.
import { writeSync } from 'node:fs'
import { fileDeadLetters } from '../../src/adapters/file/index.ts'
import { LazaretError } from '../../src/core/failure/errors.ts'
import { systemClock, systemRandom } from '../../src/ports/system-clock.ts'
import { createFactory } from '../../src/testing/factories.ts'

const [dir = '', count = 'Infinity'] = process.argv.slice(2)
const IN_FLIGHT = 8
/** Small, so that every run comes past the end of files, rewrites and indexes too. */
const ROTATE_BYTES = 40_000

const make = createFactory({ clock: systemClock, random: systemRandom })
const store = fileDeadLetters({ dir, rotateBytes: ROTATE_BYTES })
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
  await step('sent', letter.id, () => store.send(letter))
  if (turn % 3 === 1) {
    say('discarding', letter.id)
    await step('discarded', letter.id, () =>
      store.change(letter.id, { to: 'discarded', at: systemClock.now() }),
    )
  }
  if (turn % 3 === 2) {
    say('deleting', letter.id)
    await step('deleted', letter.id, () => store.delete(letter.id))
  }
}

async function step(done: string, id: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
    say(done, id)
  } catch (error) {
    const code = error instanceof LazaretError ? error.code : 'UNEXPLAINED'
    say('failed', id, code, JSON.stringify(error instanceof Error ? error.message : error))
  }
}

await Promise.all(
  Array.from({ length: IN_FLIGHT }, async (_, lane) => {
    for (let turn = lane; left-- > 0; turn += IN_FLIGHT) await live(turn)
  }),
)
await store.close().catch(() => {})
say('closed')
