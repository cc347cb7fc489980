import { describe, expect, it } from 'vitest'
import { type LokiReceiver, lokiReceiver } from '../../../../test/receivers/loki.ts'
import { failureOf, make, never, withReceiver } from '../../../../test/support/sinks.ts'
import { classify } from '../../../core/failure/classify.ts'
import { sinkConformance } from '../../../testing/conformance/sink.ts'
import { loki } from './loki.ts'

const idsOf = (receiver: LokiReceiver) =>
  receiver.entries.map(({ line }) => (JSON.parse(line) as { readonly id: string }).id)

describe('loki sink', () => {
  sinkConformance({
    test: it,
    declares: { setFailing: true, hang: true, refuse: true },
    setup: async () => {
      const receiver = await lokiReceiver()
      return {
        sink: loki({ url: receiver.url }),
        received: async () => idsOf(receiver),
        setFailing: isFailing => receiver.misbehave(isFailing ? { status: 500 } : undefined),
        hang: () => receiver.misbehave('hang'),
        refuse: ids => receiver.refuse(ids),
        cleanup: receiver.close,
      }
    },
  })

  it('E17: an event is a line of its stream, with its time, labels and structured metadata', async () => {
    await withReceiver(lokiReceiver({ isMultiTenant: true }), async (receiver, open) => {
      const sink = open(
        loki({ url: `${receiver.url}/`, tenant: 'shop', labels: { app: 'till', 'k8s.io/pod': 'a' } }),
      )
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
      const event = make.event({ key: 'o-1', headers: { severity: 'error', traceparent } })
      await sink.write([event], never())
      const [entry] = receiver.entries
      expect(entry).toMatchObject({
        tenant: 'shop',
        labels: { app: 'till', k8s_io_pod: 'a', channel: 'orders', severity: 'error' },
        metadata: {
          event_id: event.id,
          event_type: 'order.placed',
          event_key: 'o-1',
          trace_id: '0af7651916cd43dd8448eb211c80319c',
          span_id: 'b7ad6b7169203331',
        },
      })
      expect(entry!.ns / 1_000_000n).toBe(BigInt(event.occurredAt))
      expect(JSON.parse(entry!.line)).toMatchObject({
        id: event.id,
        type: 'order.placed',
        payload: { amount: 42 },
      })
    })
  })

  it('E17: a resend does not create a duplicate, because time and line are equal', async () => {
    await withReceiver(lokiReceiver(), async (receiver, open) => {
      const sink = open(loki({ url: receiver.url }))
      const events = make.events(50)
      receiver.misbehaveNext('reset-after')
      await expect(sink.write(events, never())).rejects.toMatchObject({ code: 'LAZARET_SINK_UNREACHABLE' })
      await sink.write(events, never())
      expect(idsOf(receiver)).toEqual(events.map(({ id }) => id))
    })
  })

  it('E17: within a stream times rise and are unique, however the events arrive', async () => {
    await withReceiver(lokiReceiver(), async (receiver, open) => {
      const sink = open(loki({ url: receiver.url, line: ({ type }) => type }))
      const events = make.events(300, { occurredAt: make.event().occurredAt })
      const strangers = Array.from({ length: 200 }, (_, n) => make.event({ id: `id-${n}` }))
      await sink.write([...events, ...strangers].toReversed(), never())
      const times = receiver.entries.map(({ ns }) => ns)
      expect(new Set(times).size).toBe(500)
      expect(times).toEqual(times.toSorted((a, b) => (a < b ? -1 : 1)))
    })
  })

  it('E17: two that fall on the same nanosecond are both kept, whatever their lines', async () => {
    await withReceiver(lokiReceiver(), async (receiver, open) => {
      const sink = open(loki({ url: receiver.url, line: ({ type }) => type }))
      const event = make.event()
      await sink.write([event, event, event], never())
      expect(new Set(receiver.entries.map(({ ns }) => ns)).size).toBe(3)
    })
  })

  it('E20: a label has so many values and no more', async () => {
    await withReceiver(lokiReceiver(), async (receiver, open) => {
      const labelsOf = ({ key = '' }) => ({ 'customer id': key, __reserved: 'x', empty: '' })
      const sink = open(loki({ url: receiver.url, labelFields: [], labelsOf, maxLabelValues: 10 }))
      for (let n = 0; n < 3; n++)
        await sink.write(
          Array.from({ length: 40 }, (_, k) => make.event({ key: `k${n * 40 + k}` })),
          never(),
        )
      const values = new Set(receiver.entries.map(({ labels }) => labels['customer_id']))
      expect([...values]).toEqual([...Array.from({ length: 10 }, (_, k) => `k${k}`), 'other'])
      expect(receiver.entries[0]?.labels).toEqual({ customer_id: 'k0', _reserved: 'x', source: 'lazaret' })
      expect(receiver.streams.size).toBe(11)
    })
  })

  it('E17: of a thousand events the few that Loki refuses are found, and the others are stored once', async () => {
    await withReceiver(lokiReceiver(), async (receiver, open) => {
      const sink = open(loki({ url: receiver.url }))
      const events = make.events(1_000)
      const old = make.event({ occurredAt: 1_000_000_000_000 })
      receiver.refuse([events[17]!.id, events[998]!.id])
      const result = await sink.write([...events, old], never())
      expect(result?.rejected.map(({ index }) => index).toSorted((a, b) => a - b)).toEqual([17, 998, 1_000])
      expect(result?.rejected.map(({ error }) => classify(error).retryable)).toEqual([false, false, false])
      expect(receiver.entries).toHaveLength(998)
      expect(receiver.requests.length).toBeLessThan(70)
    })
  })

  it('E17: when it is about all of them, that is found out soon', async () => {
    await withReceiver(lokiReceiver({ allowStructuredMetadata: false }), async (receiver, open) => {
      const events = make.events(1_000)
      const sink = open(loki({ url: receiver.url }))
      const result = await sink.write(events, never())
      expect(result?.rejected).toHaveLength(1_000)
      expect(result?.rejected[0]?.error).toMatchObject({ status: 400, message: /structured metadata/ })
      expect(receiver.requests.length).toBeLessThan(40)
      expect(await open(loki({ url: receiver.url, metadata: false })).write(events, never())).toBeUndefined()
    })
  })

  it('E17: a push that is too large goes in halves, and a line that is too long not at all', async () => {
    await withReceiver(lokiReceiver({ maxBodyBytes: 100_000 }), async (receiver, open) => {
      const sink = open(loki({ url: receiver.url, maxLineBytes: 2_000 }))
      const events = make.events(1_000)
      const long = make.event({ payload: 'é'.repeat(999) })
      const result = await sink.write([long, ...events], never())
      expect(result?.rejected).toMatchObject([{ index: 0, error: { code: 'LAZARET_EVENT_INVALID' } }])
      expect(idsOf(receiver)).toEqual(events.map(({ id }) => id))
    })
  })

  it('E17: an event whose own function throws does not hold up the others', async () => {
    await withReceiver(lokiReceiver(), async (receiver, open) => {
      const line = ({ payload }: { payload: unknown }) => (payload as { text: string }).text.trim()
      const sink = open(loki({ url: receiver.url, line }))
      const events = [
        make.event({ payload: { text: 'a' } }),
        make.event(),
        make.event({ payload: { text: 'b' } }),
      ]
      const result = await sink.write(events, never())
      expect(result?.rejected).toMatchObject([
        { index: 1, error: { retryable: false, category: 'schema', cause: { name: 'TypeError' } } },
      ])
      expect(receiver.entries.map(entry => entry.line)).toEqual(['a', 'b'])
    })
  })

  it('B1: a limit of Loki is transient, with the wait it asks for', async () => {
    await withReceiver(lokiReceiver(), async (receiver, open) => {
      const sink = open(loki({ url: receiver.url }))
      receiver.misbehaveNext({
        status: 429,
        headers: { 'retry-after': '3' },
        body: 'Ingestion rate limit exceeded',
      })
      const failure = classify(await failureOf(sink.write(make.events(3), never())))
      expect(failure).toMatchObject({ retryable: true, retryAfterMs: 3_000 })
      expect(receiver.requests).toHaveLength(1)
    })
  })

  it('E17: bodies worth it are compressed', async () => {
    await withReceiver(lokiReceiver(), async (receiver, open) => {
      await open(loki({ url: receiver.url })).write(make.events(100), never())
      await open(loki({ url: receiver.url, gzip: false })).write(make.events(100), never())
      const [compressed, plain] = receiver.requests
      expect(compressed!.headers['content-encoding']).toBe('gzip')
      expect(compressed!.wireBytes * 3).toBeLessThan(plain!.wireBytes)
      expect(receiver.entries).toHaveLength(200)
    })
  })

  it('E18: the probe asks /ready', async () => {
    await withReceiver(lokiReceiver(), async (receiver, open) => {
      const sink = open(loki({ url: receiver.url }))
      await sink.probe?.(never())
      expect(receiver.requests[0]?.url).toBe('/ready')
      receiver.misbehave({ status: 503, body: 'Ingester not ready: waiting for 15s after being ready' })
      await expect(sink.probe?.(never())).rejects.toThrow('Ingester not ready')
      expect(open(loki({ url: receiver.url, probe: false })).probe).toBeUndefined()
    })
  })
})
