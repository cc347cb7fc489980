import { afterEach, describe, expect, it } from 'vitest'
import { openSqlite, type SqliteStore } from '../../src/adapters/sqlite/index.ts'
import { createIdSource } from '../../src/core/event/uuid.ts'
import { fixed } from '../../src/core/retry/fixed.ts'
import { systemClock, systemRandom } from '../../src/ports/clock.ts'
import { startReplay } from '../../src/replay/control.ts'
import { planReplay } from '../../src/replay/plan.ts'
import { runReplay } from '../../src/replay/runner.ts'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'
import { createEvent } from '../../src/runtime/create-event.ts'
import { tracedBroker } from '../../src/runtime/traced-broker.ts'
import { TestTiming } from '../../src/testing/conformance/harness.ts'
import type { CollectedSpan } from '../receivers/otlp-traces.ts'
import { collectorWorld, tracesReceiver } from '../support/collector-world.ts'
import { SqliteFile } from '../support/sqlite-file.ts'
import { ownTracesReceiver, type TracingWorld, tracingWorld } from '../support/tracing-world.ts'

const DELAY_MS = 60
/** Longer than a process needs to end after its first attempt, also on a busy machine. */
const LONG_DELAY_MS = 3_000
const timing = new TestTiming({})
const environment = {
  clock: systemClock,
  newId: createIdSource(systemRandom),
  schemaOf: () => undefined,
  downstreamFault: () => undefined,
}

let world: TracingWorld
let file: SqliteFile
afterEach(async () => {
  await world.close()
  file.remove()
})

/** A shop whose billing may be out of order. Every call opens the file again, as another process would. */
function shop(delayMs = DELAY_MS) {
  const billing = { isDown: true, billed: 0 }
  return {
    billing,
    async open() {
      const store = openSqlite({ path: file.path })
      const broker = tracedBroker(store.broker, world.tracing)
      const consumer = createConsumer({
        broker,
        channel: 'orders',
        name: 'bill',
        deadLetters: store.deadLetters,
        retry: { attempts: 2, backoff: fixed({ delayMs, jitter: 'none' }) },
        inProcessWaitMs: 0,
        breaker: 'off',
        tracing: world.tracing,
        handle: () =>
          world.inSpan('charge card', async () => {
            if (billing.isDown) throw new Error('billing is down, password=hunter2')
            billing.billed++
          }),
      })
      await consumer.start()
      return { store, broker, consumer }
    },
  }
}

async function replayAll(store: SqliteStore): Promise<void> {
  const { id } = await planReplay(store, { filter: {}, reason: 'billing is back', by: 'ann' }, environment)
  await startReplay(store, id, { by: 'ann', clock: systemClock })
  const target = { send: store.broker.publish.bind(store.broker) }
  const replay = await runReplay(store, id, { target, environment, owner: 'test', tracing: world.tracing })
  expect(replay.state).toBe('finished')
}

async function found<T>(look: () => Promise<T | undefined>, what: string): Promise<T> {
  let value: T | undefined
  await timing.eventually(async () => {
    value = await look()
    return value !== undefined
  }, what)
  return value!
}

function named(spans: readonly CollectedSpan[], name: string): CollectedSpan[] {
  return spans.filter(span => span.name === name).sort((one, other) => one.startMs - other.startMs)
}

function isChild(span: CollectedSpan, of: CollectedSpan): boolean {
  return span.traceId === of.traceId && span.parentSpanId === of.spanId
}

function childrenOf(parent: CollectedSpan, spans: readonly CollectedSpan[]): string[] {
  return spans
    .filter(span => isChild(span, parent))
    .sort((one, other) => one.startMs - other.startMs)
    .map(({ name }) => name)
}

const collectors = await collectorWorld()
const RECEIVERS = [
  { name: 'the receiver of the tests', isFound: true, openReceiver: ownTracesReceiver },
  {
    name: `an OpenTelemetry Collector${collectors.why}`,
    isFound: collectors.found.found,
    openReceiver: () => tracesReceiver(collectors.start()),
  },
]

describe.each(RECEIVERS)('a trace in $name', ({ isFound, openReceiver }) => {
  it.runIf(isFound)(
    'E20: connects publishing, failed attempts, their wait, the dead letter and the replay that recovered',
    async () => {
      world = await tracingWorld(undefined, openReceiver())
      file = new SqliteFile()
      const { open, billing } = shop()
      const { store, broker, consumer } = await open()
      const event = createEvent({
        channel: 'orders',
        type: 'order.placed',
        payload: { card: 'of a customer' },
      })
      await world.inSpan('POST /orders', () => broker.publish([event]))
      const dead = async () => (await store.deadLetters.list({ state: 'dead' })).letters[0]
      const letter = await found(dead, 'a dead letter')
      billing.isDown = false
      await replayAll(store)
      await consumer.close()
      await store.close()

      const spans = await world.spans()
      const [request] = named(spans, 'POST /orders')
      const [publish, replay] = named(spans, 'send orders')
      expect(isChild(publish!, request!)).toBe(true)
      expect(childrenOf(publish!, spans)).toEqual([
        'process orders',
        'wait orders',
        'process orders',
        'dead-letter orders',
      ])
      const [first, second, recovered] = named(spans, 'process orders')
      const [wait] = named(spans, 'wait orders')
      const [grave] = named(spans, 'dead-letter orders')

      // Another trace, which leads back.
      expect(replay!.traceId).not.toBe(publish!.traceId)
      expect(replay!.parentSpanId).toBe('')
      const linkBack = { traceId: publish!.traceId, spanId: publish!.spanId }
      expect(replay!.links).toEqual([linkBack])
      expect(isChild(recovered!, replay!)).toBe(true)
      expect(recovered!.links).toEqual([linkBack])
      expect(childrenOf(replay!, spans)).toEqual(['process orders'])

      // The spans that the handler made are the attempts' own.
      for (const attempt of [first!, second!, recovered!])
        expect(childrenOf(attempt, spans)).toEqual(['charge card'])

      expect([publish!, first!, wait!, grave!].map(({ kind }) => kind)).toEqual([
        'producer',
        'consumer',
        'internal',
        'client',
      ])
      const failed = [first!, second!].map(({ status }) => status)
      expect(failed).toEqual(Array(2).fill({ code: 'error', message: 'billing is down, password=***' }))
      expect(recovered!.status.code).toBe('unset')

      expect(wait!.startMs).toBeGreaterThanOrEqual(Math.floor(first!.startMs))
      expect(wait!.endMs - wait!.startMs).toBeGreaterThanOrEqual(DELAY_MS)
      expect(wait!.endMs).toBeLessThanOrEqual(second!.startMs)
      expect(wait!.attributes['lazaret.wait.delay_ms']).toBe(DELAY_MS)

      expect(publish!.attributes).toEqual({
        'messaging.system': 'sqlite',
        'messaging.operation.name': 'send',
        'messaging.operation.type': 'send',
        'messaging.destination.name': 'orders',
        'messaging.message.id': event.id,
        'lazaret.event.type': 'order.placed',
      })
      const place = {
        'messaging.system': 'sqlite',
        'messaging.destination.name': 'orders',
        'messaging.consumer.group.name': 'bill',
        'messaging.message.id': event.id,
        'lazaret.event.type': 'order.placed',
      }
      expect(second!.attributes).toEqual({
        ...place,
        'messaging.operation.name': 'process',
        'messaging.operation.type': 'process',
        'lazaret.attempt': 2,
        'error.type': 'Error',
        'lazaret.failure.category': letter.cycle.category,
        'lazaret.failure.retryable': true,
        'lazaret.failure.fingerprint': letter.cycle.failure?.fingerprint.id,
      })
      expect(grave!.attributes).toMatchObject({
        ...place,
        'messaging.operation.type': 'settle',
        'lazaret.dead_letter.id': letter.id,
        'lazaret.dead_letter.reason': 'attempts_exhausted',
        'lazaret.attempts': 2,
      })
      const { replayId } = (await reopened(letter.id))!
      expect(recovered!.attributes).toMatchObject({
        ...place,
        'lazaret.replay.number': 1,
        'lazaret.replay.id': replayId,
        'lazaret.dead_letter.id': letter.id,
      })
      expect(JSON.stringify(spans)).not.toContain('of a customer')
      expect(JSON.stringify(spans)).not.toContain('hunter2')
    },
  )
})

describe('a trace over a restart', () => {
  it('E20: continues after a restart, with the wait that the other process began', async () => {
    world = await tracingWorld()
    file = new SqliteFile()
    const { open, billing } = shop(LONG_DELAY_MS)
    const before = await open()
    await before.broker.publish([createEvent({ channel: 'orders', type: 'order.placed' })])
    const failedOnce = async () => named(await world.spans(), 'process orders')[0]
    const first = await found(failedOnce, 'an attempt')
    await before.consumer.close()
    await before.store.close()
    billing.isDown = false
    const after = await open()
    await timing.eventually(() => billing.billed === 1, 'handling after the restart')
    await after.consumer.close()
    await after.store.close()

    const spans = await world.spans()
    const [publish] = named(spans, 'send orders')
    expect(publish!.parentSpanId).toBe('')
    expect(childrenOf(publish!, spans)).toEqual(['process orders', 'wait orders', 'process orders'])
    const [wait] = named(spans, 'wait orders')
    expect(wait!.startMs).toBeGreaterThanOrEqual(Math.floor(first.startMs))
    expect(wait!.endMs - wait!.startMs).toBeGreaterThanOrEqual(LONG_DELAY_MS)
  })
})

async function reopened(letterId: string) {
  const store = openSqlite({ path: file.path })
  const letter = await store.deadLetters.get(letterId)
  await store.close()
  return letter
}
