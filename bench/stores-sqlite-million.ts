// `fill PATH` writes a million letters, `measure PATH` asks about them and prints what that costs, as JSON.
import { openSqlite } from '../src/adapters/sqlite/index.ts'
import { letterId } from '../src/core/dead-letter/identity.ts'
import type { DeadLetter } from '../src/core/dead-letter/letter.ts'
import { LETTER_STATES } from '../src/core/dead-letter/state.ts'
import { createIdSource } from '../src/core/event/uuid.ts'
import type { LetterQuery } from '../src/ports/dead-letters.ts'
import { systemClock, systemRandom } from '../src/ports/system-clock.ts'
import { createFactory } from '../src/testing/factories.ts'
import { seededRandom } from '../src/testing/seeded-random.ts'

const COUNT = 1_000_000
const IN_FLIGHT = 1_000
const SAMPLES = 2_000
const REPEATS = 5
const PAGE = 500
const RARE = 'the one that nobody has seen before'
const REASONS = ['attempts_exhausted', 'permanent', 'poison', 'rate_limited'] as const

export interface MillionReport {
  readonly openMs: number
  readonly memoryMb: number
  readonly queries: readonly { readonly name: string; readonly ms: readonly number[] }[]
}

/** Of 20 channels, 4 handlers, 10 types, 150 causes, and so of nearly 2 000 kinds that a filter can tell apart. */
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

/** One letter a millisecond, each with ids and a key of its own. */
async function fill(path: string): Promise<void> {
  const store = openSqlite({ path })
  const [rare, ...common] = samples()
  const newId = createIdSource(systemRandom)
  const start = systemClock.now() - COUNT
  let next = 0
  const writer = async () => {
    while (next < COUNT) {
      const index = next++
      const at = start + index
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

async function measure(path: string): Promise<void> {
  const store = openSqlite({ path })
  const openMs = await milliseconds(() => store.ready())
  const { deadLetters, groups } = store
  const { letters } = await deadLetters.list({ limit: 1 })
  const { channel, handler, event, cycle, state } = letters[0]!
  const group = cycle.failure!.fingerprint.id
  const middle = cycle.lastFailedAt - COUNT / 2
  const list = (query: LetterQuery) => () => deadLetters.list(query)
  let cursor: string | undefined
  for (let page = 0; page < PAGE; page++) ({ cursor } = await deadLetters.list({ cursor }))
  const questions: Record<string, () => Promise<unknown>> = {
    'first page': list({}),
    [`page ${PAGE}`]: list({ cursor }),
    'a channel': list({ channel }),
    'a handler': list({ handler }),
    'a type': list({ type: event.type }),
    'a reason': list({ reason: cycle.reason }),
    'a category': list({ category: cycle.category }),
    'a state': list({ state }),
    'a group': list({ group }),
    'a time': list({ after: middle, before: middle + 1_000 }),
    'all filters at once': list({ channel, handler, type: event.type, state, group, before: middle }),
    'a text that many have': list({ search: 'not to be reached' }),
    'a text that few have': list({ search: 'customer-4711' }),
    'a text that one has, in the midst': list({ search: RARE }),
    'a text that none has': list({ search: 'nowhere to be found' }),
    'an event id': list({ search: event.id }),
    'a text in a channel': list({ search: 'host-7', channel }),
    figures: () => deadLetters.stats(),
    'figures of a channel': () => deadLetters.stats({ channel }),
    groups: () => groups.list(),
    'a group with its counts': () => groups.get(group),
  }
  const queries = []
  for (const [name, ask] of Object.entries(questions)) {
    const ms: number[] = []
    for (let repeat = 0; repeat < REPEATS; repeat++) ms.push(await milliseconds(ask))
    queries.push({ name, ms })
  }
  const { count } = await deadLetters.stats()
  if (count !== COUNT) throw new Error(`${count} letters are there, not ${COUNT}`)
  await store.close()
  // The most it ever took, in kilobytes.
  const memoryMb = process.resourceUsage().maxRSS / 1_000
  process.stdout.write(JSON.stringify({ openMs, memoryMb, queries } satisfies MillionReport))
}

async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const startedAt = process.hrtime.bigint()
  await work()
  return Number(process.hrtime.bigint() - startedAt) / 1e6
}

const [what, path = ''] = process.argv.slice(2)
if (what !== undefined) await (what === 'fill' ? fill(path) : measure(path))
