import { describe, expect, it } from 'vitest'
import { elasticsearchReceiver } from '../../../../test/receivers/elasticsearch.ts'
import { failureOf, make, never, withReceiver } from '../../../../test/support/sinks.ts'
import { classify } from '../../../core/failure/classify.ts'
import { sinkConformance } from '../../../testing/conformance/sink.ts'
import { elasticsearch } from './elasticsearch.ts'

describe('elasticsearch sink', () => {
  sinkConformance({
    test: it,
    declares: { setFailing: true, hang: true, refuse: true },
    setup: async () => {
      const receiver = await elasticsearchReceiver()
      return {
        sink: elasticsearch({ url: receiver.url }),
        received: async () => receiver.created.map(({ id }) => String(id)),
        setFailing: isFailing => receiver.misbehave(isFailing ? { status: 503 } : undefined),
        hang: () => receiver.misbehave('hang'),
        refuse: ids => receiver.failItems(ids, 400, 'document_parsing_exception'),
        cleanup: receiver.close,
      }
    },
  })

  it('E17: an event becomes a document of the index of its day, under its own id', async () => {
    await withReceiver(elasticsearchReceiver(), async (receiver, open) => {
      const sink = open(elasticsearch({ url: receiver.url, index: 'shop-{channel}-{yyyy.MM.dd}' }))
      const event = make.event({ channel: 'Orders', occurredAt: Date.UTC(2026, 0, 31, 23, 59), key: 'o-1' })
      await sink.write([event], never())
      expect(receiver.documents.get('shop-orders-2026.01.31')?.get(event.id)).toMatchObject({
        '@timestamp': '2026-01-31T23:59:00.000Z',
        id: event.id,
        type: 'order.placed',
        channel: 'Orders',
        key: 'o-1',
        payload: { amount: 42 },
      })
    })
  })

  it('E17: only the items that failed are named, each with what its own failure means', async () => {
    await withReceiver(elasticsearchReceiver({ numbers: ['payload.amount'] }), async (receiver, open) => {
      const sink = open(elasticsearch({ url: receiver.url }))
      const events = [
        make.event(),
        make.event({ payload: { amount: 'many' } }),
        make.event(),
        make.event({ id: 'x'.repeat(10) }),
        make.event(),
      ]
      const meanings = []
      for (const [status, type] of [
        [429, 'es_rejected_execution_exception'],
        [503, 'unavailable_shards_exception'],
        [403, 'cluster_block_exception'],
      ] as const) {
        receiver.failItems(['x'.repeat(10)], status, type)
        const result = await sink.write(events, never())
        meanings.push(
          result?.rejected.map(({ index, error }) => {
            const { retryable, category } = classify(error)
            return [index, retryable, category]
          }),
        )
      }
      expect(meanings).toEqual([
        [
          [1, false, 'schema'],
          [3, true, 'transient'],
        ],
        [
          [1, false, 'schema'],
          [3, true, 'transient'],
        ],
        [
          [1, false, 'schema'],
          [3, false, 'integration'],
        ],
      ])
      expect(receiver.created).toHaveLength(3)
    })
  })

  it('E17: an event that was accepted although its answer was lost is not duplicated when it is sent again', async () => {
    await withReceiver(elasticsearchReceiver(), async (receiver, open) => {
      const sink = open(elasticsearch({ url: receiver.url }))
      const events = make.events(5)
      receiver.misbehaveNext('reset-after')
      await expect(sink.write(events.slice(0, 3), never())).rejects.toMatchObject({ retryable: true })
      expect(await sink.write(events, never())).toBeUndefined()
      expect(receiver.created).toHaveLength(5)
    })
  })

  it('E17: data streams', async () => {
    await withReceiver(
      elasticsearchReceiver({ dataStreams: ['logs-shop-default'] }),
      async (receiver, open) => {
        const sink = open(elasticsearch({ url: receiver.url, dataStream: 'logs-shop-default' }))
        expect(await sink.write(make.events(3), never())).toBeUndefined()
        expect(receiver.documents.get('logs-shop-default')?.size).toBe(3)
      },
    )
  })

  it('E17: a missing index, or an invalid index name, fails only its own event', async () => {
    await withReceiver(elasticsearchReceiver({ indices: ['a'] }), async (receiver, open) => {
      const index = ({ key = '' }) => (key === 'none' ? (undefined as unknown as string) : key)
      const sink = open(elasticsearch({ url: receiver.url, index }))
      const events = ['a', 'none', 'b', 'UPPER', 'a'].map(key => make.event({ key }))
      const result = await sink.write(events, never())
      expect(result?.rejected.map(at => at.index).toSorted()).toEqual([1, 2, 3])
      expect(result?.rejected.every(({ error }) => !classify(error).retryable)).toBe(true)
      expect(receiver.created).toHaveLength(2)
    })
  })

  it('E17: a body that is too large goes in halves, compressed if that is wanted', async () => {
    await withReceiver(elasticsearchReceiver({ maxBodyBytes: 50_000 }), async (receiver, open) => {
      const sink = open(elasticsearch({ url: receiver.url, gzip: true }))
      const events = make.events(1_000)
      const large = make.event({ payload: 'x'.repeat(60_000) })
      const result = await sink.write([...events, large], never())
      expect(result?.rejected).toMatchObject([{ index: 1_000, error: { status: 413, retryable: false } }])
      expect(receiver.created.map(({ id }) => id)).toEqual(events.map(({ id }) => id))
      expect(receiver.requests[0]?.headers['content-encoding']).toBe('gzip')
    })
  })

  it('E17: an API key, a token or credentials of the URL', async () => {
    const keyed = elasticsearchReceiver({ authorization: 'ApiKey VnVhQ2ZHY0JDZGJrU' })
    await withReceiver(keyed, async (receiver, open) => {
      await open(elasticsearch({ url: receiver.url, apiKey: 'VnVhQ2ZHY0JDZGJrU' })).write(
        [make.event()],
        never(),
      )
      expect(receiver.created).toHaveLength(1)
      const stranger = open(elasticsearch({ url: receiver.url, token: 'wrong-token' }))
      const error = await failureOf(stranger.write([make.event()], never()))
      expect(error).toMatchObject({ status: 401, retryable: false, message: /unable to authenticate/ })
      expect(error.message).not.toContain('wrong-token')
    })
    expect(() => elasticsearch({ url: 'http://u:p@es', apiKey: 'k' })).toThrow('give one')
  })

  it('E2: a request whose answer is not a bulk answer may be retried', async () => {
    await withReceiver(elasticsearchReceiver(), async (receiver, open) => {
      const sink = open(elasticsearch({ url: receiver.url }))
      for (const body of ['<html>a proxy</html>', '{"errors":true,"items":[]}', 'null']) {
        receiver.misbehaveNext({ status: 200, body })
        const failure = classify(await failureOf(sink.write(make.events(2), never())))
        expect(failure).toMatchObject({ retryable: true, code: 'LAZARET_SINK_UNREACHABLE' })
      }
      receiver.misbehaveNext({ status: 429, headers: { 'retry-after': '2' } })
      expect(classify(await failureOf(sink.write(make.events(2), never()))).retryAfterMs).toBe(2_000)
    })
  })

  it('E18: the probe asks for the root', async () => {
    await withReceiver(elasticsearchReceiver(), async (receiver, open) => {
      const sink = open(elasticsearch({ url: receiver.url }))
      await sink.probe?.(never())
      expect(receiver.requests[0]).toMatchObject({ method: 'HEAD', url: '/' })
      receiver.misbehave({ status: 503 })
      await expect(sink.probe?.(never())).rejects.toMatchObject({ status: 503 })
    })
  })

  it('E18: a write-only key may not read the root, and the server still counts as healthy', async () => {
    await withReceiver(elasticsearchReceiver(), async (receiver, open) => {
      const sink = open(elasticsearch({ url: receiver.url }))
      receiver.misbehave({ status: 403 })
      await expect(sink.probe?.(never())).resolves.toBeUndefined()
      receiver.misbehave({ status: 401 })
      await expect(sink.probe?.(never())).rejects.toMatchObject({ status: 401 })
    })
  })
})
