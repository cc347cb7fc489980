import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { http } from '../../../src/adapters/sinks/index.ts'
import { PermanentError, TransientError } from '../../../src/core/failure/signals.ts'
import { fixed } from '../../../src/core/retry/fixed.ts'
import type { Sink } from '../../../src/ports/sink.ts'
import { createConsumer } from '../../../src/runtime/consumer/consumer.ts'
import { createDispatcher } from '../../../src/runtime/dispatcher/dispatcher.ts'
import { seededRandom } from '../../../src/testing/seeded-random.ts'
import { watchConnections } from '../campaign/cut-connections.ts'
import { pause, untilStill } from '../campaign/wait.ts'
import { Load } from './load.ts'
import { LoopDelay, measureProcess } from './measure.ts'
import { Operator } from './operator.ts'
import {
  CONSUMED,
  type EndLine,
  type Kind,
  type ProcessSample,
  type Request,
  SINK,
  type StoreName,
  TRACKED,
} from './plan.ts'
import { openStore, type StorePlace } from './stores.ts'
import { Tally } from './tally.ts'

/** What the process of a store is started with. */
export interface ProcessOptions {
  readonly name: StoreName
  readonly place: StorePlace
  readonly receiver: string
  readonly perSecond: number
  readonly operateEveryMs: number
  readonly seed: number
}

/** What it says, beside `started`. */
export type Report = { readonly sample: ProcessSample } | { readonly end: EndLine['end'] }

const HANDLER_MS = 2
const TRANSIENT_FAILURES = 2
/** A store in which nothing moves for so long at the end has lost something. */
const STILL_MS = 120_000
const EXAMPLES = 5
const MOST_LETTERS = 100

// The process of one store: its producer, consumer, dispatcher and operator.
const { name, place, receiver, perSecond, operateEveryMs, seed }: ProcessOptions = JSON.parse(
  process.argv[2]!,
)
const cut = watchConnections()
const delay = new LoopDelay()
const tally = new Tally()
await mkdir(join(place.folder, 'spill'), { recursive: true })
const under = openStore(name, place)
const { broker, store, journal, spill } = under
const observer = {
  letterSaved: () => tally.add('dead'),
  letterSpilled: () => tally.add('dead'),
}

const consumer = createConsumer<{ kind: Kind }>({
  broker,
  channel: CONSUMED,
  deadLetters: store.deadLetters,
  ...(store.ledger !== undefined && { ledger: store.ledger }),
  spill,
  concurrency: 10,
  // A tenth of the events fail for a reason of their own, so a breaker would open and pause the others too.
  breaker: 'off',
  retry: { attempts: 4, backoff: fixed({ delayMs: 300 }) },
  timeoutMs: 5_000,
  leaseMs: 8_000,
  leaveOpen: true,
  observer,
  async handle({ id, payload: { kind } }, { attempt, replay }) {
    await pause(HANDLER_MS)
    if (kind === 'transient' && attempt <= TRANSIENT_FAILURES)
      throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    if (kind === 'permanent' && replay === 0) throw new PermanentError('the order has no customer')
    if (kind === 'exhausted' && replay === 0) throw new Error(`attempt ${attempt} failed`)
    if (kind === 'poison')
      throw new TransientError('the event fails in the same way at each attempt', { category: 'business' })
    tally.handled(id)
  },
})

const dispatcher = createDispatcher({
  sinks: { [SINK]: counted(http({ url: receiver, request: 'each', concurrency: 4 })) },
  channel: TRACKED,
  deadLetters: store.deadLetters,
  spill,
  journal,
  critical: { types: ['order.seen'] },
  leaveOpen: true,
  observer,
})

const operator = new Operator(under, dispatcher, tally, {
  everyMs: operateEveryMs,
  retentionMs: place.retentionMs,
})
const load = new Load({ broker, dispatcher, tally }, perSecond, seededRandom(seed))

process.on('message', (request: Request) => {
  if (request === 'cut') cut()
  else if (request === 'sample') tell({ sample: { ...measureProcess(delay), counts: tally.counts } })
  else void end()
})
// The soak itself was ended.
process.on('disconnect', () => process.exit())
await untilItStarts(() => consumer.start())
load.start()
operator.start()
process.send!('started')

/** Counts what the sink has taken, replays included. */
function counted(sink: Sink): Sink {
  return {
    ...sink,
    async write(batch, context) {
      const result = await sink.write(batch, context)
      const rejected = new Set(result?.rejected.map(({ index }) => index))
      for (const [index, { id }] of batch.entries()) if (!rejected.has(index)) tally.handled(id)
      return result
    },
  }
}

/** The server of a store may need a moment after its start. */
async function untilItStarts(start: () => Promise<void>): Promise<void> {
  for (let left = 10; ; left--) {
    try {
      return await start()
    } catch (error) {
      if (left === 0) throw error
      await pause(1_000)
    }
  }
}

/** All faults are over: publishing ends, and each event must be handled, discarded or a letter. */
async function end(): Promise<void> {
  const stuck: string[] = []
  await load.stop()
  await operator.stop()
  const letters = async () => new Set(await eventsOfLetters())
  const isOver = async () => tally.without(await letters()).length === 0 && (await spill.size()) === 0
  const isSettled = await untilStill(
    () => isOver().catch(() => false),
    () => tally.counts.handled,
    STILL_MS,
  )
  if (!isSettled) stuck.push(`nothing was handled for ${STILL_MS / 1_000} s at the end`)
  const held = await letters()
  const missing = tally.without(held)
  const left = (await consumer.lag().catch(() => undefined)) ?? 0
  await dispatcher.close({ graceMs: 5_000 })
  await consumer.close({ graceMs: 5_000 })
  const counts = { missing: missing.length, left, letters: held.size }
  await told({ end: { ...tally.counts, ...counts, examples: missing.slice(0, EXAMPLES), stuck } })
  for (const part of [broker, store, journal, spill]) await part.close?.()
  process.exit()
}

async function eventsOfLetters(): Promise<string[]> {
  const ids: string[] = []
  let cursor: string | undefined
  do {
    const page = await store.deadLetters.list({ limit: MOST_LETTERS, cursor })
    for (const { event } of page.letters) ids.push(event.id)
    cursor = page.cursor
  } while (cursor !== undefined)
  return ids
}

function tell(report: Report): void {
  process.send!(report)
}

/** Resolves when the report is sent, because a process that exits loses what it still has to send. */
function told(report: Report): Promise<void> {
  return new Promise(resolve => process.send!(report, () => resolve()))
}
