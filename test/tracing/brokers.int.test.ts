import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { memoryDeadLetters } from '../../src/adapters/memory/index.ts'
import { rabbitmq } from '../../src/adapters/rabbitmq/index.ts'
import type { LazaretEvent } from '../../src/core/event/event.ts'
import { replayHeaders } from '../../src/core/event/replay-headers.ts'
import { fixed } from '../../src/core/retry/fixed.ts'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'
import type { ConsumerOptions } from '../../src/runtime/consumer/consumer-options.ts'
import { createRelay } from '../../src/runtime/relay/relay.ts'
import { tracedBroker } from '../../src/runtime/traced-broker.ts'
import { uniqueName } from '../../src/testing/conformance/harness.ts'
import type { CollectedSpan } from '../receivers/otlp-traces.ts'
import { postgresWorld, timing } from '../support/outbox-world.ts'
import { rabbitmqWorld } from '../support/rabbitmq-world.ts'
import { type TracingWorld, tracingWorld } from '../support/tracing-world.ts'

const postgres = await postgresWorld()
const rabbit = await rabbitmqWorld()
const why = `${postgres.why}${rabbit.why}`

let world: TracingWorld
beforeEach(async () => {
  world = await tracingWorld()
})
afterEach(() => world.close())

const shared = {
  breaker: 'off',
  poison: 'off',
  retry: { attempts: 2, backoff: fixed({ delayMs: 60, jitter: 'none' }) },
  inProcessWaitMs: 0,
} as const satisfies Partial<ConsumerOptions>

/** A handler that fails so often, and what it was given. */
function handler(failures: number) {
  const seen: LazaretEvent[] = []
  const handle = async (event: LazaretEvent) => {
    if (seen.push(event) <= failures) throw new Error('not yet')
  }
  return { seen, handle }
}

function named(spans: readonly CollectedSpan[], name: string): CollectedSpan[] {
  return spans.filter(span => span.name === name).sort((one, other) => one.startMs - other.startMs)
}

const at = ({ traceId, spanId }: CollectedSpan) => ({ traceId, spanId })

describe.runIf(postgres.found.found)(`a trace in Postgres${postgres.why}`, () => {
  it.runIf(rabbit.found.found)(
    `E20: goes on through the outbox, a relay and RabbitMQ, over a retry in its queue${why}`,
    async () => {
      const { tracing } = world
      const channel = uniqueName('orders')
      const { seen, handle } = handler(1)
      const outbox = postgres.world.process({ tracing, maxPollMs: 50 })
      const queue = tracedBroker(rabbitmq({ url: rabbit.url }), tracing)
      const deadLetters = memoryDeadLetters()
      const bill = createConsumer({
        ...shared,
        broker: queue,
        channel,
        name: 'bill',
        deadLetters,
        tracing,
        handle,
      })
      const relay = createRelay({ ...shared, from: outbox, to: queue, channel, name: 'relay', tracing })
      for (const consumer of [bill, relay]) await consumer.start()
      const [order] = await world.inSpan('POST /orders', () =>
        outbox.enqueue(postgres.database!.pool, [{ channel, type: 'order.placed' }]),
      )
      await timing.eventually(() => seen.length === 2, 'two attempts')
      for (const consumer of [relay, bill]) await consumer.close()

      const spans = await world.spans()
      const [request] = named(spans, 'POST /orders')
      const [enqueue, relayed] = named(spans, `send ${channel}`)
      expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([request!.traceId]))
      expect(enqueue!.parentSpanId).toBe(request!.spanId)
      const [relaying, ...attempts] = named(spans, `process ${channel}`)
      expect(relaying!.attributes['messaging.consumer.group.name']).toBe('relay')
      expect(relayed!.parentSpanId).toBe(relaying!.spanId)
      expect(relayed!.kind).toBe('client')
      expect(attempts.map(({ parentSpanId, status }) => [parentSpanId, status.code])).toEqual([
        [enqueue!.spanId, 'error'],
        [enqueue!.spanId, 'unset'],
      ])
      const traceparent = `00-${enqueue!.traceId}-${enqueue!.spanId}-01`
      for (const { headers } of [order!, ...seen]) expect(headers['traceparent']).toBe(traceparent)
    },
  )

  it('E20: a replay by SQL after a traced one begins a new trace, which links to the old one', async () => {
    const { tracing } = world
    const channel = uniqueName('orders')
    const { seen, handle } = handler(2)
    const outbox = postgres.world.process({ tracing, maxPollMs: 50 })
    const once = { ...shared, retry: { attempts: 1 } }
    const bill = createConsumer({ ...once, broker: outbox, channel, name: 'bill', tracing, handle })
    await bill.start()
    const pool = postgres.database!.pool
    const event = await outbox.enqueue(pool, { channel, type: 'order.placed' })
    const failed = (times: number) =>
      timing.eventually(async () => {
        const [row] = await postgres.world.rows(event.id)
        return row?.status === 'failed' && row.failure_history.length === times - 1
      }, `failure ${times}`)
    await failed(1)
    const headers = replayHeaders(event, { replayId: 'r1', handler: 'bill' })
    await outbox.publish([{ ...event, headers }])
    await failed(2)
    await pool.query(`select lazaret.outbox_replay($1, null, 'ada')`, [event.id])
    await timing.eventually(() => seen.length === 3, 'the replay by SQL')
    await bill.close()

    const spans = await world.spans()
    const [enqueue, replayed] = named(spans, `send ${channel}`)
    const [first, second, third] = named(spans, `process ${channel}`)
    expect(first!.parentSpanId).toBe(enqueue!.spanId)
    expect([second!.parentSpanId, second!.links]).toEqual([replayed!.spanId, [at(enqueue!)]])
    expect([third!.parentSpanId, third!.links]).toEqual(['', [at(replayed!)]])
    expect(new Set([first, second, third].map(span => span!.traceId)).size).toBe(3)
  })
})
