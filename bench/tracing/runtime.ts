import { type Context, context } from '@opentelemetry/api'
import { memoryDeadLetters, memorySink } from '../../src/adapters/memory/index.ts'
import type { Tracing } from '../../src/ports/tracing.ts'
import { createEvent } from '../../src/runtime/create-event.ts'
import { createDispatcher } from '../../src/runtime/dispatcher/dispatcher.ts'
import { atLeast, type Bar, median, type Row, row } from '../harness/result.ts'
import { consume } from '../runtime-consume.ts'
import { sampledTracing } from './sdk.ts'

const ROUNDS = 11
const MESSAGES = 100_000
const BURSTS = 100
const BURST = 1_000
const SECOND_NS = 1e9

/** Messages and tracked events inside requests, of which one in a hundred is sampled. Rounds are interleaved. */
export async function tracedRuntimeRows(): Promise<{ rows: Row[]; bars: Bar[] }> {
  const { tracing, requests, close } = sampledTracing()
  const contexts = requests(BURSTS)
  const events = contexts.flatMap(request =>
    Array.from({ length: MESSAGES / BURSTS }, (_, order) =>
      createEvent({
        type: 'order.placed',
        channel: 'orders',
        payload: { order },
        headers: context.with(request, () => tracing.context()),
      }),
    ),
  )
  const strangers = events.map(event => ({ ...event, headers: {} }))
  const candidates = [
    candidate('consume 100 000 messages, tracing off', 'µs/message', () => consume(events)),
    candidate('consume 100 000 messages, tracing on, 1 % sampled', 'µs/message', () =>
      consume(events, { tracing }),
    ),
    candidate('consume 100 000 messages without a trace, tracing on, 1 % sampled', 'µs/message', () =>
      consume(strangers, { tracing }),
    ),
    candidate('track in requests, one sink, tracing off', 'events/s', () => dispatch(contexts, undefined)),
    candidate('track in requests, one sink, tracing on, 1 % sampled', 'events/s', () =>
      dispatch(contexts, tracing),
    ),
  ]
  for (let round = -1; round < ROUNDS; round++)
    for (const { run, samples } of candidates) {
      const sample = await run()
      if (round >= 0) samples.push(sample)
    }
  await close()
  const rows = candidates.map(({ name, unit, samples }) => row(name, unit, samples))
  const [off, on, , trackOff, trackOn] = rows.map(({ name }) => median(rows, name)) as [
    number,
    number,
    number,
    number,
    number,
  ]
  return {
    rows,
    bars: [
      atLeast('consume, tracing on / off, messages a second', off / on, 0.75),
      atLeast('track, tracing on / off, events a second', trackOn / trackOff, 0.75),
    ],
  }
}

function candidate(name: string, unit: string, run: () => Promise<number>) {
  return { name, unit, run, samples: [] as number[] }
}

async function dispatch(requests: readonly Context[], tracing: Tracing | undefined): Promise<number> {
  const sink = memorySink({ maxEvents: BURST })
  const events = createDispatcher({ sinks: { sink }, deadLetters: memoryDeadLetters(), tracing })
  const startedAt = process.hrtime.bigint()
  for (const request of requests) {
    context.with(request, () => {
      for (let order = 0; order < BURST; order++)
        void events.track({ type: 'order.placed', payload: { order } }, { wait: 'accepted' })
    })
    await events.flush()
  }
  const tookNs = Number(process.hrtime.bigint() - startedAt)
  await events.close()
  if (sink.count !== requests.length * BURST) throw new Error(`bench: ${sink.count} were written`)
  return (sink.count * SECOND_NS) / tookNs
}
