import { context, propagation, trace } from '@opentelemetry/api'
import { AlwaysOnSampler, ParentBasedSampler } from '@opentelemetry/sdk-trace'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { memoryBroker, memoryDeadLetters, memorySink } from '../../src/adapters/memory/index.ts'
import type { LazaretEvent } from '../../src/core/event/event.ts'
import { replayHeaders } from '../../src/core/event/replay-headers.ts'
import { fixed } from '../../src/core/retry/fixed.ts'
import type { Tracing } from '../../src/ports/tracing.ts'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'
import { withDeadLetters } from '../../src/runtime/consumer/with-dead-letters.ts'
import { createEvent } from '../../src/runtime/create-event.ts'
import { createDispatcher } from '../../src/runtime/dispatcher/dispatcher.ts'
import { resilient } from '../../src/runtime/resilient/resilient.ts'
import { tracedBroker } from '../../src/runtime/traced-broker.ts'
import { TestTiming } from '../../src/testing/conformance/harness.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { type TracingWorld, tracingWorld } from '../support/tracing-world.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SENDER = '00f067aa0ba902b7'
const SAMPLED = `00-${TRACE}-${SENDER}-01`
const UNSAMPLED = `00-${TRACE}-${SENDER}-00`
const replayed = (event: LazaretEvent) => ({ ...event, headers: replayHeaders(event, {}) })
const timing = new TestTiming({})

/** Who publishes knows nothing of traces. */
const stranger: Tracing = {
  publish: () => undefined,
  follow: () => undefined,
  call: () => undefined,
  write: () => undefined,
  context: () => undefined,
}

let world: TracingWorld
beforeEach(async () => {
  world = await tracingWorld(new ParentBasedSampler({ root: new AlwaysOnSampler() }))
})
afterEach(() => world.close())

const order = (headers: Record<string, string> = {}) =>
  createEvent({ channel: 'orders', type: 'order.placed', headers })

/** Publishes events and waits until all have been handled; answers the trace each ran in. */
async function handled(
  events: readonly LazaretEvent[],
  tracing: Tracing = world.tracing,
  sender: Tracing = tracing,
) {
  const broker = memoryBroker()
  const seen: (string | undefined)[] = []
  const consumer = createConsumer({
    broker,
    channel: 'orders',
    deadLetters: memoryDeadLetters(),
    tracing,
    handle: () =>
      world.inSpan('work', async () => void seen.push(trace.getActiveSpan()?.spanContext().traceId)),
  })
  await consumer.start()
  await tracedBroker(broker, sender).publish(events)
  await timing.eventually(() => seen.length === events.length, 'handling')
  await consumer.close()
  return seen
}

describe('tracing in edge cases', () => {
  it('E20: an unsampled trace stays unsampled, and its handler still belongs to the trace', async () => {
    expect(await handled([order({ traceparent: UNSAMPLED })])).toEqual([TRACE])
    expect(await world.spans()).toEqual([])
  })

  it('E20: continues the trace of another program, with its state', async () => {
    expect(await handled([order({ traceparent: SAMPLED, tracestate: 'vendor=1' })])).toEqual([TRACE])
    const attempt = (await world.spans()).find(({ name }) => name === 'process orders')
    expect(attempt).toMatchObject({ traceId: TRACE, parentSpanId: SENDER })
  })

  it.each([
    '',
    'nonsense',
    `ff-${TRACE}-${SENDER}-01`,
    `00-${'0'.repeat(32)}-${SENDER}-01`,
    `00-${'0'.repeat(32)}-${SENDER}-00`,
    `00-${TRACE}-${'0'.repeat(16)}-00`,
    `${SAMPLED}x`,
  ])('E21: ignores a foreign traceparent that is not valid: %j', async traceparent => {
    for (const sender of [world.tracing, stranger]) {
      const [traceId] = await handled([order({ traceparent })], world.tracing, sender)
      expect(traceId).toMatch(/^(?!4bf92f)[\da-f]{32}$/)
      const attempts = (await world.spans()).filter(({ name }) => name === 'process orders')
      expect(attempts.at(-1)?.traceId).toBe(traceId)
    }
  })

  it('E21: an implementation that throws changes nothing for the event', async () => {
    const fail = () => {
      throw new Error('tracing is broken')
    }
    const step = { run: fail, end: fail, discard: fail }
    const broken = { publish: fail, follow: fail, call: fail, write: fail, context: fail }
    const half = {
      publish: (events: readonly LazaretEvent[]) => ({ ...step, events }),
      follow: () => ({ attempt: () => step, failed: fail, dead: fail }),
      call: () => ({ attempt: () => step, failed: fail, dead: fail }),
      write: () => step,
      context: fail,
    }
    for (const tracing of [broken, half]) {
      expect(await handled([order()], tracing)).toHaveLength(1)
      const sink = memorySink()
      const events = createDispatcher({ sinks: { sink }, deadLetters: memoryDeadLetters(), tracing })
      await events.track({ type: 'order.paid' })
      await events.close()
      expect(sink.count).toBe(1)
      let calls = 0
      const flaky = async () => {
        if (++calls < 2) throw new Error('not yet')
        return calls
      }
      const retry = { backoff: fixed({ delayMs: 1, jitter: 'none' }) }
      expect(await resilient(flaky, { retry, tracing })()).toBe(2)
    }
  })

  it('E20: events of one publish call share its context, and events with their own context keep it', async () => {
    const traces = await handled([order(), order(), order({ traceparent: SAMPLED })])
    const [publish] = (await world.spans()).filter(({ name }) => name === 'send orders')
    expect(traces.sort()).toEqual([publish!.traceId, publish!.traceId, TRACE].sort())
    expect(publish!.attributes['messaging.batch.message_count']).toBe(3)
    expect(publish!.links).toEqual([{ traceId: TRACE, spanId: SENDER }])
  })

  it('E20: a write to a sink is one span for the batch, and leads to the spans that tracked', async () => {
    const sink = memorySink()
    const events = createDispatcher({
      sinks: { loki: sink },
      deadLetters: memoryDeadLetters(),
      tracing: world.tracing,
    })
    await Promise.all(
      ['one', 'two'].map(name =>
        world.inSpan(name, () => events.track({ type: 'order.paid', severity: 'info' })),
      ),
    )
    await events.close()
    const spans = await world.spans()
    const [write, ...others] = spans.filter(({ name }) => name === 'send loki')
    expect(others).toEqual([])
    const tracked = ['one', 'two'].map(name => spans.find(span => span.name === name)!)
    expect(write!.links).toEqual(tracked.map(({ traceId, spanId }) => ({ traceId, spanId })))
    expect(write!.attributes).toMatchObject({
      'messaging.destination.name': 'loki',
      'messaging.batch.message_count': 2,
    })
  })

  it('E20: a replay that was sent without tracing begins a trace at its attempt, and links to the one it repeats', async () => {
    const broker = memoryBroker()
    const { promise: traceOfHandler, resolve } = Promise.withResolvers<string | undefined>()
    const consumer = createConsumer({
      broker,
      channel: 'orders',
      deadLetters: memoryDeadLetters(),
      tracing: world.tracing,
      handle: async () => resolve(trace.getActiveSpan()?.spanContext().traceId),
    })
    await consumer.start()
    await broker.publish([replayed(order({ traceparent: SAMPLED }))])
    const traceId = await traceOfHandler
    await consumer.close()
    const [attempt, ...others] = await world.spans()
    expect(others).toEqual([])
    expect(attempt).toMatchObject({
      name: 'process orders',
      traceId,
      parentSpanId: '',
      links: [{ traceId: TRACE, spanId: SENDER }],
      attributes: { 'lazaret.replay.number': 1 },
    })
    expect(traceId).not.toBe(TRACE)
  })

  it('E20: its write to a sink is not part of that trace either', async () => {
    const sink = memorySink()
    const deadLetters = memoryDeadLetters()
    const events = createDispatcher({ sinks: { loki: sink }, deadLetters, tracing: world.tracing })
    const event = replayed(order({ traceparent: SAMPLED }))
    await events.resend({ ...createFactory().letter({ event }), handler: 'loki' })
    await events.close()
    const [write, ...others] = await world.spans()
    expect(others).toEqual([])
    expect(write).toMatchObject({
      name: 'send loki',
      parentSpanId: '',
      links: [{ traceId: TRACE, spanId: SENDER }],
    })
    expect(write!.traceId).not.toBe(TRACE)
  })

  it('E20: an event that no sink accepted becomes a letter in its own trace', async () => {
    const sink = { write: () => Promise.reject(new Error('loki is down')) }
    const deadLetters = memoryDeadLetters()
    const retry = { attempts: 1 }
    const events = createDispatcher({ sinks: { loki: sink }, deadLetters, retry, tracing: world.tracing })
    await world.inSpan('request', () => events.track({ type: 'order.paid' }).catch(() => {}))
    await events.close()
    const spans = await world.spans()
    const request = spans.find(({ name }) => name === 'request')!
    const ended = spans.filter(({ parentSpanId }) => parentSpanId === request.spanId)
    expect(ended.map(({ name, status }) => [name, status.code])).toEqual([
      ['send loki', 'error'],
      ['dead-letter events', 'error'],
    ])
  })

  it("E20: a wrapped handler's attempts belong to the span of the client that called it, and its own spans to them", async () => {
    const inner = () => world.inSpan('work', async () => 'done')
    const safe = withDeadLetters(inner, {
      source: 'jobs',
      deadLetters: memoryDeadLetters(),
      tracing: world.tracing,
    })
    expect(await world.inSpan('client', () => safe())).toBe('done')
    await safe.close()
    const spans = await world.spans()
    const [client, attempt, work] = ['client', 'process jobs', 'work'].map(
      name => spans.find(span => span.name === name)!,
    )
    expect(attempt!.parentSpanId).toBe(client!.spanId)
    expect(work!.parentSpanId).toBe(attempt!.spanId)
  })

  it.each([SAMPLED, UNSAMPLED])(
    'E20: what else is in the context of its caller is there in a wrapped handler, in trace %s',
    async traceparent => {
      const seen: unknown[] = []
      const safe = withDeadLetters(
        async () =>
          seen.push(
            propagation.getActiveBaggage()?.getEntry('tenant')?.value,
            trace.getActiveSpan()?.spanContext().traceId,
          ),
        {
          source: 'jobs',
          deadLetters: memoryDeadLetters(),
          tracing: world.tracing,
          describe: () => ({ headers: { traceparent } }),
        },
      )
      const baggage = propagation.createBaggage({ tenant: { value: 'acme' } })
      await context.with(propagation.setBaggage(context.active(), baggage), () => safe())
      await safe.close()
      expect(seen).toEqual(['acme', TRACE])
    },
  )

  it('E20: a protected call records its failed attempts and its retries, with their waits', async () => {
    let calls = 0
    const fetchProfile = async () => {
      if (++calls < 3) throw new Error('not yet')
    }
    const retry = { backoff: fixed({ delayMs: 20, jitter: 'none' }) }
    const call = resilient(fetchProfile, { retry, tracing: world.tracing })
    await world.inSpan('request', () => call())
    await world.inSpan('well', () => call())
    const spans = await world.spans()
    const request = spans.find(({ name }) => name === 'request')!
    const steps = spans.filter(({ parentSpanId }) => parentSpanId === request.spanId)
    expect(steps.map(({ name, status }) => `${name} ${status.code}`).sort()).toEqual([
      'attempt fetchProfile error',
      'attempt fetchProfile error',
      'attempt fetchProfile unset',
      'wait fetchProfile unset',
      'wait fetchProfile unset',
    ])
    for (const { startMs, endMs } of steps.filter(({ name }) => name.startsWith('wait')))
      expect(endMs - startMs).toBeGreaterThanOrEqual(20)
    // A call that worked at once is told of by its caller's span alone.
    expect(spans).toHaveLength(steps.length + 2)
  })
})
