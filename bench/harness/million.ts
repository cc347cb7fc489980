import { letterId } from '../../src/core/dead-letter/identity.ts'
import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'
import { LETTER_STATES } from '../../src/core/dead-letter/state.ts'
import { createIdSource } from '../../src/core/event/uuid.ts'
import { systemClock } from '../../src/ports/clock.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'

/** The number of letters in the large stores. */
export const COUNT: number = Number(process.env['LAZARET_BENCH_LETTERS'] ?? 1_000_000)
/** The error text of a single letter. */
export const RARE = 'the one that nobody has seen before'

/** The cost of the queries. */
export interface MillionReport {
  readonly openMs: number
  readonly memoryMb: number
  readonly queries: readonly { readonly name: string; readonly ms: readonly number[] }[]
}

const SAMPLES = 2_000
const CAUSES = 150
/** One letter in this many has the same cause, so that one group is large. */
const LARGE_GROUP_SHARE = 5
const MAX_ATTEMPTS = 5
const HOUR_MS = 3_600_000
const REASONS = ['attempts_exhausted', 'permanent', 'poison', 'rate_limited'] as const

/** 20 channels, 4 handlers, 10 types and 150 causes: nearly 2 000 combinations for filters. */
function samples(): DeadLetter[] {
  const random = seededRandom(1)
  const make = createFactory({ clock: systemClock, random })
  const draw = (below: number) => Math.floor(random() * below)
  return Array.from({ length: SAMPLES }, (_, index) => {
    const error = new Error(`customer ${draw(1e6)} of host-${draw(150)} is not to be reached`)
    error.name = `Cause${draw(LARGE_GROUP_SHARE) === 0 ? 0 : draw(CAUSES)}Error`
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
      attempts: Array.from({ length: 1 + draw(MAX_ATTEMPTS) }, (_, at) => make.attempt(at + 1)),
    })
    return { ...letter, state: LETTER_STATES[draw(LETTER_STATES.length)]! }
  })
}

/** Letters with a fixed interval between their times, oldest first. Each has its own ids and key. */
export function* manyLetters(count: number, everyMs: number): Generator<DeadLetter> {
  const [rare, ...common] = samples()
  const random = seededRandom(2)
  const newId = createIdSource(random)
  const start = systemClock.now() - count * everyMs
  for (let index = 0; index < count; index++) {
    const at = start + index * everyMs
    const sample = index === Math.floor(count / 3) ? rare! : common[index % common.length]!
    const event = { ...sample.event, id: newId(at), key: `customer-${index % 50_000}` }
    const firstFailedAt = at - Math.floor(random() * HOUR_MS)
    const cycle = { ...sample.cycle, firstFailedAt, lastFailedAt: at }
    const id = letterId(sample.channel, sample.handler, event)
    yield { ...sample, id, event, cycle, createdAt: at, updatedAt: at }
  }
}

/** Sends letters with a fixed concurrency, without holding all of them in memory. */
export async function sendEach(
  letters: Generator<DeadLetter>,
  inFlight: number,
  send: (letter: DeadLetter) => Promise<void>,
): Promise<void> {
  const writer = async () => {
    for (let next = letters.next(); !next.done; next = letters.next()) await send(next.value)
  }
  await Promise.all(Array.from({ length: inFlight }, writer))
}
