import { memoryBroker, memoryDeadLetters } from '../src/adapters/memory/index.ts'
import { createEvent, type LazaretEvent } from '../src/core/event/event.ts'
import { createIdSource } from '../src/core/event/uuid.ts'
import { systemClock, systemRandom } from '../src/ports/clock.ts'
import { createConsumer } from '../src/runtime/consumer/consumer.ts'
import type { ConsumerOptions } from '../src/runtime/consumer/consumer-options.ts'
import { createMetrics } from '../src/runtime/metrics/create-metrics.ts'
import {
  atLeast,
  atMost,
  type Bar,
  METRICS_ON_AT_LEAST,
  median,
  medianRatio,
  type Row,
  row,
} from './harness/result.ts'

const CONCURRENCY = 100
/** Small runs are repeated more often, because one run ends before the machine is warm. */
const ROUNDS = new Map([
  [1_000, 101],
  [10_000, 31],
  [100_000, 11],
  [1_000_000, 5],
])
const MICROSECONDS = 1_000
const METERED_SIZE = 20_000
const METERED_ROUNDS = 40

function makeEvents(count: number): LazaretEvent[] {
  const newId = createIdSource(systemRandom)
  const now = systemClock.now()
  return Array.from({ length: count }, (_, order) =>
    createEvent({ type: 'order.placed', channel: 'orders', payload: { order } }, { now, newId }),
  )
}

/** Microseconds per message, from the consumer's start to the last handler's end; publishing is not measured. */
export async function consume(
  events: readonly LazaretEvent[],
  watched: Pick<ConsumerOptions, 'observer' | 'tracing'> = {},
): Promise<number> {
  const broker = memoryBroker({ maxPerChannel: events.length })
  await broker.publish(events)
  let handled = 0
  const finished = Promise.withResolvers<void>()
  const consumer = createConsumer({
    broker,
    channel: 'orders',
    deadLetters: memoryDeadLetters(),
    concurrency: CONCURRENCY,
    ...watched,
    handle: async () => {
      if (++handled === events.length) finished.resolve()
    },
  })
  const startedAt = process.hrtime.bigint()
  await consumer.start()
  await finished.promise
  const tookNs = Number(process.hrtime.bigint() - startedAt)
  await consumer.close()
  return tookNs / MICROSECONDS / events.length
}

/** The overhead of a consumer with retry, breaker, poison, timeout and dead letters on, on the memory broker. */
export async function consumeRows(): Promise<{ rows: Row[]; bars: Bar[] }> {
  await consume(makeEvents(50_000))
  const rows: Row[] = []
  for (const [size, rounds] of ROUNDS) {
    const events = makeEvents(size)
    const samples: number[] = []
    for (let round = 0; round < rounds; round++) samples.push(await consume(events))
    rows.push(row(name(size), 'µs/message', samples))
  }
  const metered = await meteredRows()
  const sizes = [...ROUNDS.keys()]
  const medians = sizes.map(size => median(rows, name(size)))
  return {
    rows: [...rows, ...metered.rows],
    bars: [
      ...metered.bars,
      ...sizes.map((size, index) => atMost(`${name(size)}, µs/message`, medians[index]!, 3)),
      atMost('slowest size ÷ fastest size', Math.max(...medians) / Math.min(...medians), 2),
    ],
  }
}

/** Runs with and without metrics in every round, in changing order. */
async function meteredRows(): Promise<{ rows: Row[]; bars: Bar[] }> {
  const events = makeEvents(METERED_SIZE)
  const off: number[] = []
  const on: number[] = []
  const { observer } = createMetrics()
  const turns = [
    async () => off.push(await consume(events)),
    async () => on.push(await consume(events, { observer })),
  ]
  for (let round = 0; round < METERED_ROUNDS; round++) {
    for (const turn of turns) await turn()
    turns.reverse()
  }
  return {
    rows: [
      row(`${name(METERED_SIZE)}, metrics off`, 'µs/message', off),
      row(`${name(METERED_SIZE)}, metrics on`, 'µs/message', on),
    ],
    bars: [
      atLeast('consume, metrics on ÷ off, messages a second', medianRatio(off, on), METRICS_ON_AT_LEAST),
    ],
  }
}

function name(size: number): string {
  return `consume ${size.toLocaleString('en-US').replaceAll(',', ' ')} messages, concurrency ${CONCURRENCY}`
}
