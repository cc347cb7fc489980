// Writes a million letters into a database, with a fixed interval between their times.
import { openSqlite } from '../src/adapters/sqlite/index.ts'
import { letterId } from '../src/core/dead-letter/identity.ts'
import type { DeadLetter } from '../src/core/dead-letter/letter.ts'
import { LETTER_STATES } from '../src/core/dead-letter/state.ts'
import { createIdSource } from '../src/core/event/uuid.ts'
import { systemClock, systemRandom } from '../src/ports/clock.ts'
import { createFactory } from '../src/testing/factories.ts'
import { seededRandom } from '../src/testing/seeded-random.ts'
import { COUNT, RARE } from './harness/million.ts'

const IN_FLIGHT = 1_000
const SAMPLES = 2_000
const REASONS = ['attempts_exhausted', 'permanent', 'poison', 'rate_limited'] as const

/** 20 channels, 4 handlers, 10 types and 150 causes: nearly 2 000 combinations for filters. */
function samples(): DeadLetter[] {
  const random = seededRandom(1)
  const make = createFactory({ clock: systemClock, random })
  const draw = (below: number) => Math.floor(random() * below)
  return Array.from({ length: SAMPLES }, (_, index) => {
    const error = new Error(`customer ${draw(1e6)} of host-${draw(150)} is not to be reached`)
    error.name = `Cause${draw(150)}Error`
    const event = make.event({
      channel: `channel-${draw(20)}`,
      type: `type.${draw(10)}`,
      payload: { text: 'x'.repeat(120) },
    })
    const letter = make.letter({
      event,
      handler: `handler-${draw(4)}`,
      reason: REASONS[draw(REASONS.length)]!,
      error: index === 0 ? new Error(RARE) : error,
    })
    return { ...letter, state: LETTER_STATES[draw(LETTER_STATES.length)]! }
  })
}

/** Each letter has its own ids and key. */
async function fill(path: string, everyMs: number): Promise<void> {
  const store = openSqlite({ path })
  const [rare, ...common] = samples()
  const newId = createIdSource(systemRandom)
  const start = systemClock.now() - COUNT * everyMs
  let next = 0
  const writer = async () => {
    while (next < COUNT) {
      const index = next++
      const at = start + index * everyMs
      const sample = index === Math.floor(COUNT / 3) ? rare! : common[index % common.length]!
      const event = { ...sample.event, id: newId(at), key: `customer-${index % 50_000}` }
      const cycle = { ...sample.cycle, firstFailedAt: at, lastFailedAt: at }
      const id = letterId(sample.channel, sample.handler, event)
      await store.deadLetters.send({ ...sample, id, event, cycle, createdAt: at, updatedAt: at })
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, writer))
  await store.close()
}

const [path = '', everyMs = '1'] = process.argv.slice(2)
await fill(path, Number(everyMs))
