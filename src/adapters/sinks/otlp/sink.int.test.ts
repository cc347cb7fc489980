import { describe, expect, it } from 'vitest'
import { type OtlpReceiver, otlpReceiver } from '../../../../test/receivers/otlp.ts'
import { neverAborted, rejection } from '../../../../test/support/sink-writes.ts'
import { classify } from '../../../core/failure/classify.ts'
import { fixed } from '../../../core/retry/fixed.ts'
import { systemClock, systemRandom } from '../../../ports/clock.ts'
import type { Sink } from '../../../ports/sink.ts'
import { createDispatcher } from '../../../runtime/dispatcher/dispatcher.ts'
import { TestTiming } from '../../../testing/conformance/harness.ts'
import { sinkConformance } from '../../../testing/conformance/sink.ts'
import { createFactory } from '../../../testing/factories.ts'
import { memoryDeadLetters } from '../../memory/letters/dead-letters.ts'
import type { OtlpOptions } from './options.ts'
import { otlp } from './sink.ts'

const make = createFactory({ clock: systemClock, random: systemRandom })
const timing = new TestTiming({})
const FORMATS = ['protobuf', 'json'] as const
const idsIn = ({ records }: OtlpReceiver) => records.map(({ attributes }) => attributes['log.record.uid'])

async function withCollector(
  options: Partial<OtlpOptions>,
  run: (collector: OtlpReceiver, sink: Sink) => Promise<void>,
): Promise<void> {
  const collector = await otlpReceiver(options.headers)
  const sink = otlp({ url: collector.logsUrl, ...options })
  try {
    await run(collector, sink)
  } finally {
    await sink.close!()
    await collector.close()
  }
}

describe.each(FORMATS)('OTLP sink in %s', format => {
  sinkConformance({
    test: it,
    declares: { setFailing: true, hang: true, refuse: false },
    async setup() {
      const collector = await otlpReceiver()
      return {
        sink: otlp({ url: collector.logsUrl, format }),
        received: async () => idsIn(collector).map(String),
        setFailing: isFailing => collector.misbehave(isFailing ? { status: 503 } : undefined),
        hang: () => collector.misbehave('hang'),
        cleanup: () => collector.close(),
      }
    },
  })

  it.each(['none', 'gzip'] as const)('E17: an event is a log record, compression %s', async compression => {
    const resource = { 'service.name': 'shop', replicas: 3 }
    const headers = { 'x-api-key': 'k' }
    await withCollector(
      { format, compression, resource, headers, attributes: tenant },
      async (collector, sink) => {
        const event = make.event({
          type: 'payment.failed',
          key: 'order-1',
          idempotencyKey: 'once',
          source: '/shop',
          occurredAt: 1_700_000_000_123,
          headers: {
            severity: 'ERROR',
            traceparent: `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`,
            tenant: 'acme',
          },
          payload: { amount: 12.5, count: 3, big: 1e300, deep: [null, true, { ü: '\ud800x' }], none: {} },
        })
        await sink.write([event, make.event({ payload: new Uint8Array([0, 255]) })], neverAborted())
        expect(collector.records[0]).toEqual({
          timeUnixNano: '1700000000123000000',
          observedTimeUnixNano: expect.stringMatching(/^\d{19}$/),
          severityNumber: 17,
          severityText: 'ERROR',
          body: { amount: 12.5, count: 3, big: '1e+300', deep: [null, true, { ü: '\ufffdx' }], none: {} },
          eventName: 'payment.failed',
          attributes: {
            'log.record.uid': event.id,
            'lazaret.channel': 'orders',
            'lazaret.key': 'order-1',
            'lazaret.idempotency_key': 'once',
            'cloudevents.event_source': '/shop',
            tenant: 'acme',
          },
          droppedAttributesCount: 0,
          flags: 1,
          traceId: 'ab'.repeat(16),
          spanId: 'cd'.repeat(8),
          resource,
          scope: 'lazaret',
        })
        expect(collector.records[1]).toMatchObject({ severityNumber: 9, severityText: 'INFO', traceId: '' })
        expect(Buffer.from([0, 255]).equals(collector.records[1]!.body as Buffer)).toBe(true)
        expect(collector.requests[0]!.headers['content-encoding']).toBe(
          compression === 'gzip' ? 'gzip' : undefined,
        )
      },
    )
  })

  it('E2: of a batch taken in part, nobody says which: all of it is refused for good', async () => {
    const told: unknown[] = []
    await withCollector(
      { format, onPartialSuccess: partial => told.push(partial) },
      async (collector, sink) => {
        const batch = make.events(3)
        collector.refuse([batch[1]!.id], 'a value is too long')
        const result = await sink.write(batch, neverAborted())
        expect(result?.rejected.map(({ index }) => index)).toEqual([0, 1, 2])
        const { error } = result!.rejected[0]!
        expect(String(error)).toContain('rejected 1 of 3 records: a value is too long; it does not say which')
        expect(classify(error)).toMatchObject({ retryable: false, category: 'schema' })
        expect(told).toEqual([{ rejected: 1, sent: 3, message: 'a value is too long' }])
        expect(collector.requests).toHaveLength(1)
      },
    )
  })

  it('E2: or all of it counts as taken, if that is wanted; a warning refuses nothing', async () => {
    const told: unknown[] = []
    const onPartialSuccess = (partial: unknown) => told.push(partial)
    await withCollector({ format, partialSuccess: 'accept', onPartialSuccess }, async (collector, sink) => {
      const batch = make.events(200)
      collector.refuse(batch.slice(0, 150).map(({ id }) => id))
      expect(await sink.write(batch, neverAborted())).toEqual({ rejected: [] })
      expect(told).toEqual([{ rejected: 150, sent: 200, message: 'not these' }])
    })
    await withCollector({ format }, async (collector, sink) => {
      collector.warn('field deprecated')
      expect(await sink.write(make.events(2), neverAborted())).toEqual({ rejected: [] })
    })
  })

  it.each([429, 502, 503, 504])(
    'B1: %i is tried again, by nobody but the lane, when the server says',
    async status => {
      await withCollector({ format }, async (collector, sink) => {
        collector.misbehave({ status, headers: { 'retry-after': '7' }, body: 'busy' })
        const error = await rejection(sink.write(make.events(1), neverAborted()))
        expect(classify(error)).toMatchObject({ retryable: true, category: 'transient', retryAfterMs: 7_000 })
        // An exporter left to itself would try again at once.
        collector.misbehave({ status, headers: { 'retry-after': '0' } })
        expect(classify(await rejection(sink.write(make.events(1), neverAborted())))).toMatchObject({
          retryAfterMs: 0,
        })
        await timing.quiet()
        expect(collector.requests).toHaveLength(2)
      })
    },
  )

  it.each([
    [400, 'schema', false],
    [401, 'integration', false],
    [404, 'business', false],
    [413, 'schema', false],
    [301, 'integration', false],
    [500, 'integration', true],
  ])('E2: %i is %s, retryable %s', async (status, category, retryable) => {
    await withCollector({ format }, async (collector, sink) => {
      collector.misbehave({ status, body: 'why not' })
      const error = await rejection(sink.write(make.events(1), neverAborted()))
      expect(classify(error)).toMatchObject({ retryable, category })
      expect(String(error)).toContain(`answered ${status}: why not`)
      expect(classify(await rejection(sink.probe!(neverAborted()))).retryable).toBe(retryable)
    })
  })

  it('E2: a connection that breaks, or that nobody takes, is worth another attempt', async () => {
    await withCollector({ format }, async (collector, sink) => {
      collector.misbehaveNext('reset')
      const error = await rejection(sink.write(make.events(1), neverAborted()))
      expect(classify(error)).toMatchObject({ retryable: true, code: 'LAZARET_SINK_UNREACHABLE' })
      await sink.write(make.events(1), neverAborted())
      await collector.close()
      const refused = await rejection(sink.write(make.events(1), neverAborted()))
      expect(classify(refused)).toMatchObject({ retryable: true })
      expect(String(refused)).toContain('check that it runs')
    })
  })
})

describe('OTLP sink', () => {
  it('E17: through a dispatcher, a collector that is busy for a while gets every event once', async () => {
    await withCollector({}, async (collector, sink) => {
      collector.misbehaveNext({ status: 503, headers: { 'retry-after': '0' } }, 'reset', { status: 429 })
      const events = createDispatcher({
        sinks: { otlp: sink },
        deadLetters: memoryDeadLetters(),
        retry: { attempts: 6, backoff: fixed({ delayMs: 5 }) },
      })
      const result = await events.track({ type: 'order.paid', payload: { orderId: 1 } })
      expect(result.sinks['otlp']).toMatchObject({ outcome: 'delivered' })
      expect(collector.requests).toHaveLength(4)
      expect(collector.records).toHaveLength(1)
      await events.close()
    })
  })

  it('E17: writes at once are told apart', async () => {
    await withCollector({}, async (collector, sink) => {
      collector.misbehaveNext({ status: 400 }, undefined, { status: 503 })
      const ends = await Promise.allSettled(
        [1, 2, 3, 4].map(() => sink.write(make.events(2), neverAborted())),
      )
      expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(2)
      expect(collector.records).toHaveLength(4)
    })
  })

  it('E17: an event that a function of the options cannot bear is refused alone', async () => {
    const attributes = ({ payload }: { readonly payload: unknown }) => ({
      name: (payload as { name: string }).name,
    })
    await withCollector({ attributes }, async (collector, sink) => {
      const batch = [make.event({ payload: { name: 'a' } }), make.event({ payload: null }), make.event()]
      const result = await sink.write(batch, neverAborted())
      expect(result!.rejected.map(({ index }) => index)).toEqual([1])
      expect(classify(result!.rejected[0]!.error)).toMatchObject({ retryable: false, category: 'schema' })
      expect(idsIn(collector)).toEqual([batch[0]!.id, batch[2]!.id])
    })
  })

  it('E17: a request that hangs is ended with its write, and leaves its connection to the next', async () => {
    await withCollector({ agent: { maxSockets: 1 } }, async (collector, sink) => {
      collector.misbehaveNext('hang')
      const stop = new AbortController()
      const stopped = rejection(sink.write(make.events(1), { signal: stop.signal }))
      await timing.eventually(() => collector.requests.length === 1, 'the request')
      stop.abort(new Error('time is over'))
      expect(String(await stopped)).toContain('time is over')
      expect(await sink.write(make.events(2), neverAborted())).toEqual({ rejected: [] })
    })
  })

  it('F7: a key in the path or in a header is not in errors, though the collector quotes it', async () => {
    const headers = { 'x-api-key': 'hunter2', authorization: 'Bearer hunter3' }
    await withCollector({ headers }, async collector => {
      const sink = otlp({ url: `${collector.url}/receiver/hunter4/v1/logs`, headers })
      collector.misbehave({ status: 403, body: 'no: hunter2, hunter3 at /receiver/hunter4/v1/logs' })
      const { message } = (await rejection(sink.write(make.events(1), neverAborted()))) as Error
      expect(message).toContain(`OTLP ${collector.url}: answered 403: no: ***, *** at ***/v1/logs;`)
      await sink.close!()
    })
  })

  it('F7: options are checked once, all faults together; no credentials in errors', async () => {
    const wrong = { url: 'ftp://x', format: 'xml', headers: { a: 1 } } as unknown as OtlpOptions
    expect(() => otlp(wrong)).toThrow(/otlp: 3 faults/)
    const sink = otlp({ url: 'http://user:hunter2@127.0.0.1:9/v1/logs?token=hunter2' })
    expect(String(await rejection(sink.write(make.events(1), neverAborted())))).not.toContain('hunter2')
    await sink.close!()
  })
})

function tenant({ headers }: { readonly headers: Readonly<Record<string, string>> }) {
  return { tenant: headers['tenant'] ?? 'none' }
}
