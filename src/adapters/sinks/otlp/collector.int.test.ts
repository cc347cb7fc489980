import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { CollectorNode } from '../../../../test/services/collector-node.ts'
import { collectorWorld, recordsIn, uidsOf } from '../../../../test/support/collector-world.ts'
import { neverAborted, rejection } from '../../../../test/support/sink-writes.ts'
import { make } from '../../../../test/support/sinks.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { classify } from '../../../core/failure/classify.ts'
import { fixed } from '../../../core/retry/fixed.ts'
import { createDispatcher } from '../../../runtime/dispatcher/dispatcher.ts'
import { TestTiming } from '../../../testing/conformance/harness.ts'
import { sinkConformance } from '../../../testing/conformance/sink.ts'
import { memoryDeadLetters } from '../../memory/letters/dead-letters.ts'
import type { OtlpOptions } from './options.ts'
import { otlp } from './sink.ts'

const FORMATS = ['protobuf', 'json'] as const
/** The last millisecond whose nanoseconds are a uint64: in the year 2554. */
const LAST_MS = 18_446_744_073_709
const timing = new TestTiming({})
const world = await collectorWorld()

describe.runIf(world.found.found).each(FORMATS)(`an OpenTelemetry Collector, in %s${world.why}`, format => {
  let collector: CollectorNode
  /** How many records it had before the test. */
  let before = 0
  const taken = async () => (await recordsIn(collector)).slice(before)
  const open = (options: Partial<OtlpOptions> = {}) => otlp({ url: collector.logsUrl, format, ...options })

  beforeAll(async () => {
    collector = await world.start()
  })
  beforeEach(async () => {
    before = (await recordsIn(collector)).length
  })

  async function write(events: readonly LazaretEvent[], options?: Partial<OtlpOptions>) {
    const sink = open(options)
    try {
      return await sink.write(events, neverAborted())
    } finally {
      await sink.close!()
    }
  }

  sinkConformance({
    test: it,
    declares: { setFailing: false, hang: true, refuse: false },
    async setup() {
      return {
        sink: open(),
        received: async () => uidsOf(await taken()),
        hang: () => collector.freeze(),
        cleanup: async () => collector.thaw(),
      }
    },
  })

  it.each(['none', 'gzip'] as const)('E17: takes an event whole, compression %s', async compression => {
    const resource = { 'service.name': 'shop', replicas: 3 }
    const attributes = () => ({ tenant: 'acme', weight: 1.5, paid: true, count: -7 })
    const event = make.event({
      type: 'payment.failed',
      key: 'order-1',
      idempotencyKey: 'once',
      source: '/shop',
      occurredAt: 1_700_000_000_123,
      headers: { severity: 'ERROR', traceparent: `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01` },
    })
    await write([event], { compression, resource, attributes })
    expect(await taken()).toEqual([
      {
        timeUnixNano: '1700000000123000000',
        observedTimeUnixNano: expect.stringMatching(/^\d{19}$/),
        severityNumber: 17,
        severityText: 'ERROR',
        body: { amount: 42 },
        eventName: 'payment.failed',
        attributes: {
          'log.record.uid': event.id,
          'lazaret.channel': 'orders',
          'lazaret.key': 'order-1',
          'lazaret.idempotency_key': 'once',
          'cloudevents.event_source': '/shop',
          tenant: 'acme',
          weight: 1.5,
          paid: true,
          count: -7,
        },
        droppedAttributesCount: 0,
        flags: 1,
        traceId: 'ab'.repeat(16),
        spanId: 'cd'.repeat(8),
        resource,
        scope: 'lazaret',
      },
    ])
  })

  it('E17: takes every kind of payload as it was', async () => {
    const numbers = [0, 1, -1, 0.1, -0.5, 5e-324, 1e-7, 2 ** 31, -(2 ** 32), 2 ** 53, -(2 ** 53), 2 ** 62]
    const payloads: unknown[] = [
      null,
      true,
      '',
      [],
      {},
      numbers,
      { '': { 'a.b': [[], {}, [null], { c: null }] }, toString: 'own' },
      ['\u0000', '\u2028', '"\\\n', '😀', 'ü'.repeat(50_000)],
      Uint8Array.from({ length: 256 }, (_, n) => n),
      new Uint8Array(),
    ]
    await write(payloads.map(payload => make.event({ payload })))
    const bodies = (await taken()).map(({ body }) => (body instanceof Buffer ? new Uint8Array(body) : body))
    expect(bodies).toEqual(payloads)
  })

  it('E17: takes numbers, texts and times that OTLP cannot express, beside their neighbours', async () => {
    const attributes = () => ({ big: 1e300, least: -(2 ** 63), 'half \ud800': 'of a \udfff' })
    const events = [
      make.event({ payload: [1e300, -(2 ** 63), 'half \ud800', { 'half \ud800': 1 }] }),
      make.event({ occurredAt: LAST_MS + 1 }),
      make.event({ occurredAt: Date.UTC(9999, 11, 31) }),
      make.event({ occurredAt: 0 }),
      make.event(),
    ]
    expect(await write(events, { attributes, resource: { 'service.name': 'shop', big: 1e300 } })).toEqual({
      rejected: [],
    })
    const records = await taken()
    expect(uidsOf(records)).toEqual(events.map(({ id }) => id))
    for (const { attributes, resource } of records) {
      expect(attributes).toMatchObject({
        big: '1e+300',
        least: '-9223372036854776000',
        'half \ufffd': 'of a \ufffd',
      })
      expect(resource).toEqual({ 'service.name': 'shop', big: '1e+300' })
    }
    expect(records[0]!.body).toEqual(['1e+300', '-9223372036854776000', 'half \ufffd', { 'half \ufffd': 1 }])
    const [, over, farther, zero] = records.map(({ timeUnixNano }) => timeUnixNano)
    expect([over, farther, zero]).toEqual([`${LAST_MS}000000`, `${LAST_MS}000000`, '0'])
  })

  it('E2: what it says of a partial success is understood', async () => {
    const server = await world.start({ partialSuccess: true })
    const attributes = ({ key }: LazaretEvent) => (key === 'no' ? { refuse: true } : undefined)
    const told: unknown[] = []
    const options = {
      url: server.logsUrl,
      attributes,
      onPartialSuccess: (partial: unknown) => told.push(partial),
    }
    expect(await write(make.events(3), options)).toEqual({ rejected: [] })
    const batch = ['no', 'yes', 'no'].map(key => make.event({ key }))
    const result = await write(batch, options)
    expect(told).toEqual([{ rejected: 2, sent: 3, message: 'the attribute refuse is set' }])
    expect(result!.rejected.map(({ index }) => index)).toEqual([0, 1, 2])
    expect(classify(result!.rejected[0]!.error)).toMatchObject({ retryable: false, category: 'schema' })
  })

  it('R17: of a request that is too large for it, only the event that is too large by itself is refused', async () => {
    const strict = await world.start({ maxBodyBytes: 20_000 })
    const deadLetters = memoryDeadLetters()
    const events = createDispatcher({
      sinks: { otlp: open({ url: strict.logsUrl }) },
      deadLetters,
      overrides: { otlp: { retry: { attempts: 3, backoff: fixed({ delayMs: 5 }) } } },
    })
    const sizes = [...Array<number>(40).fill(2_000), 30_000, ...Array<number>(40).fill(2_000)]
    const results = await Promise.allSettled(
      sizes.map(size => events.track({ type: 'order.paid', payload: 'x'.repeat(size) })),
    )
    expect(results.map(({ status }) => status === 'fulfilled')).toEqual(sizes.map(size => size < 20_000))
    expect(await recordsIn(strict)).toHaveLength(80)
    const { letters } = await deadLetters.list({})
    expect(letters.map(({ cycle }) => [cycle.category, cycle.failure?.message])).toEqual([
      ['schema', expect.stringMatching(/answered 400: .*http: request body too large/)],
    ])
    await events.close()
  })

  it('E2: what it refuses for lack of memory is worth another attempt', async () => {
    const full = await world.start({ memoryMiB: 1 })
    const error = await rejection(write(make.events(2), { url: full.logsUrl }))
    expect(classify(error)).toMatchObject({ retryable: true, category: 'transient' })
    expect(String(error)).toContain('answered 503')
    expect(await recordsIn(full)).toEqual([])
  })

  it('E21: loses nothing when it refuses for a while, is frozen and is killed', async () => {
    const node = await world.start({ memoryMiB: 1 })
    const deadLetters = memoryDeadLetters()
    const events = createDispatcher({
      sinks: { otlp: open({ url: node.logsUrl }) },
      deadLetters,
      overrides: {
        otlp: {
          retry: { attempts: 1_000, backoff: fixed({ delayMs: 20 }) },
          timeoutMs: 2_000,
          batch: { maxCount: 7 },
          breaker: 'off',
        },
      },
    })
    const tracked: ReturnType<typeof events.track>[] = []
    const track = (count: number) => {
      for (let n = 0; n < count; n++) tracked.push(events.track({ type: 'order.paid', payload: { n } }))
    }
    const has = (count: number) =>
      timing.eventually(async () => (await recordsIn(node)).length >= count, `${count} records`)
    track(50)
    await node.kill()
    node.configure({})
    await node.start()
    await has(50)
    track(200)
    node.freeze()
    track(200)
    node.thaw()
    await has(100)
    track(300)
    await node.kill()
    await node.start()
    const ids = (await Promise.all(tracked)).map(({ event }) => event!.id)
    const uids = new Set(uidsOf(await recordsIn(node)))
    expect(ids.filter(id => !uids.has(id))).toEqual([])
    expect((await deadLetters.list({})).letters).toEqual([])
    await events.close()
  })
})
