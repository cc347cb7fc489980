import { memoryDeadLetters, memorySink } from '../src/adapters/memory/index.ts'
import { createEvent } from '../src/core/event/event.ts'
import { createIdSource } from '../src/core/event/uuid.ts'
import { systemClock, systemRandom } from '../src/ports/clock.ts'
import type { Observer } from '../src/ports/observer.ts'
import { createDispatcher } from '../src/runtime/dispatcher/dispatcher.ts'
import { createMetrics } from '../src/runtime/metrics/create-metrics.ts'
import {
  atLeast,
  type Bar,
  METRICS_ON_AT_LEAST,
  median,
  medianRatio,
  type Row,
  row,
} from './harness/result.ts'

const EVENTS = 200_000
const BURST = 1_000
const ROUNDS = 11
const SECOND_NS = 1e9
const TYPE = 'order.placed'

/** Events a second through a dispatcher, from the first track until the last one is written. */
async function dispatch(sinkCount: number, observer: Observer = {}): Promise<number> {
  const names = Array.from({ length: sinkCount }, (_, index) => `sink${index}`)
  const sinks = Object.fromEntries(names.map(name => [name, memorySink({ maxEvents: BURST })]))
  const events = createDispatcher({ sinks, deadLetters: memoryDeadLetters(), observer })
  const startedAt = process.hrtime.bigint()
  for (let order = 0; order < EVENTS; ) {
    for (let n = 0; n < BURST; n++)
      void events.track({ type: TYPE, payload: { order: order++ } }, { wait: 'accepted' })
    await events.flush()
  }
  const tookNs = Number(process.hrtime.bigint() - startedAt)
  await events.close()
  const written = names.map(name => sinks[name]?.count)
  if (written.some(count => count !== EVENTS)) throw new Error(`bench: ${written} of ${EVENTS} were written`)
  return (EVENTS * SECOND_NS) / tookNs
}

/** The cost of creating and validating the events alone, which is a lower bound for every dispatcher. */
function makeEvents(): number {
  const newId = createIdSource(systemRandom)
  const startedAt = process.hrtime.bigint()
  for (let order = 0; order < EVENTS; order++) {
    const sources = { now: systemClock.now(), newId }
    createEvent({ type: TYPE, channel: 'events', payload: { order } }, sources)
  }
  return (EVENTS * SECOND_NS) / Number(process.hrtime.bigint() - startedAt)
}

const ONE = 'track, one sink'
const THREE = 'track, three sinks'

/** The dispatcher with retry, breaker, timeout and limits, in batches of 100 to sinks that only record. */
export async function dispatchRows(): Promise<{ rows: Row[]; bars: Bar[] }> {
  const made: number[] = []
  const one: number[] = []
  const metered: number[] = []
  const three: number[] = []
  const { observer } = createMetrics()
  const turns = [
    async () => one.push(await dispatch(1)),
    async () => metered.push(await dispatch(1, observer)),
  ]
  await dispatch(1)
  for (let round = 0; round < ROUNDS; round++) {
    made.push(makeEvents())
    for (const turn of turns) await turn()
    turns.reverse()
    three.push(await dispatch(3))
  }
  const rows = [
    row('make and check the events alone', 'events/s', made),
    row(ONE, 'events/s', one),
    row(`${ONE}, metrics on`, 'events/s', metered),
    row(THREE, 'events/s', three),
  ]
  return {
    rows,
    bars: [
      atLeast(`${ONE}, events/s`, median(rows, ONE), 500_000),
      atLeast('track, metrics on ÷ off, events a second', medianRatio(metered, one), METRICS_ON_AT_LEAST),
    ],
  }
}
