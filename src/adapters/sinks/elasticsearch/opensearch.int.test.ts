import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findOpenSearch } from '../../../../test/services/opensearch.ts'
import type { OpenSearchNode } from '../../../../test/services/opensearch-node.ts'
import { ifAsked } from '../../../../test/services/receivers.ts'
import { make, never } from '../../../../test/support/sinks.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { classify } from '../../../core/failure/classify.ts'
import { fixed } from '../../../core/retry/fixed.ts'
import { createDispatcher } from '../../../runtime/dispatcher/dispatcher.ts'
import { TestTiming, uniqueName } from '../../../testing/conformance/harness.ts'
import { sinkConformance } from '../../../testing/conformance/sink.ts'
import { memoryDeadLetters } from '../../memory/letters/dead-letters.ts'
import { elasticsearch } from './elasticsearch.ts'
import type { ElasticsearchOptions } from './options.ts'

const found = await ifAsked(findOpenSearch)
const why = found.found ? '' : ` (skipped: ${found.why})`
const timing = new TestTiming({})

describe.runIf(found.found)(`elasticsearch sink on OpenSearch${why}`, () => {
  let node: OpenSearchNode
  beforeAll(async () => {
    if (found.found) node = await found.start()
  })
  afterAll(() => node?.remove())

  async function write(events: readonly LazaretEvent[], options: Partial<ElasticsearchOptions>) {
    const sink = elasticsearch({ url: node.url, ...options })
    try {
      return await sink.write(events, never())
    } finally {
      await sink.close!()
    }
  }

  /** What each refused event means to a lane, by its place in the batch. */
  function meaningsOf(result: Awaited<ReturnType<typeof write>>) {
    return (result?.rejected ?? []).map(({ index, error }) => {
      const { retryable, category } = classify(error)
      return [index, retryable, category, String(error)]
    })
  }

  sinkConformance({
    test: it,
    declares: { setFailing: false, hang: true, refuse: false },
    async setup() {
      const index = uniqueName('events').toLowerCase()
      return {
        sink: elasticsearch({ url: node.url, index }),
        received: async () => (await node.documents(index)).map(({ id }) => id),
        hang: () => node.freeze(),
        cleanup: async () => node.thaw(),
      }
    },
  })

  it('E17: stores an event whole, under its own id, in the index of its day', async () => {
    const options = { index: 'shop-{channel}-{yyyy.MM.dd}', gzip: true }
    const events = [
      make.event({
        channel: 'Orders',
        key: 'o-1',
        source: '/shop',
        occurredAt: Date.UTC(2026, 0, 31, 23, 59),
        headers: { severity: 'error' },
        payload: { text: 'ü\u0000"\n😀', flags: [null, true], list: [{ a: [1.5] }] },
      }),
      make.event({
        channel: 'Orders',
        occurredAt: Date.UTC(2026, 0, 31),
        payload: new Uint8Array([0, 255]),
      }),
    ]
    expect(await write(events, options)).toBeUndefined()
    const [first, second] = await node.documents('shop-orders-2026.01.31')
    expect(first).toEqual({
      id: events[0]!.id,
      source: {
        '@timestamp': '2026-01-31T23:59:00.000Z',
        id: events[0]!.id,
        type: 'order.placed',
        channel: 'Orders',
        key: 'o-1',
        idempotencyKey: events[0]!.id,
        source: '/shop',
        headers: { severity: 'error' },
        payload: { text: 'ü\u0000"\n😀', flags: [null, true], list: [{ a: [1.5] }] },
      },
    })
    expect(second).toMatchObject({ id: events[1]!.id, source: { payloadBase64: 'AP8=' } })
  })

  it('E17: a second sending is a conflict, which counts as taken', async () => {
    const index = 'conflicts'
    const events = make.events(5)
    await write(events.slice(0, 3), { index })
    expect(meaningsOf(await write(events, { index }))).toEqual([])
    expect((await node.documents(index)).map(({ id }) => id)).toEqual(events.map(({ id }) => id))
  })

  it('E17: refuses only the documents that do not fit the mapping, as schema', async () => {
    await node.ask('PUT', '/mapped', {
      mappings: { properties: { payload: { dynamic: 'strict', properties: { amount: { type: 'long' } } } } },
    })
    const payloads = [{ amount: 1 }, { amount: 'many' }, { amount: 2, other: 1 }, 'a text', { amount: 3 }]
    const events = payloads.map(payload => make.event({ payload }))
    const meanings = meaningsOf(await write(events, { index: 'mapped' }))
    expect(meanings.map(([index, retryable, category]) => [index, retryable, category])).toEqual([
      [1, false, 'schema'],
      [2, false, 'schema'],
      [3, false, 'schema'],
    ])
    expect(await node.documents('mapped')).toHaveLength(2)
  })

  it('E17: a payload of another shape than the first one is refused, unless it is mapped as flat_object', async () => {
    await node.ask('PUT', '/flat', {
      mappings: { properties: { payload: { type: 'flat_object' }, headers: { type: 'flat_object' } } },
    })
    const events = [{ amount: 1 }, { amount: { value: 1 } }, { amount: 'many' }].map(payload =>
      make.event({ payload, headers: { 'a.b': 'c' } }),
    )
    expect(meaningsOf(await write(events, { index: 'dynamic' })).map(([index]) => index)).toEqual([1, 2])
    expect(meaningsOf(await write(events, { index: 'flat' }))).toEqual([])
    const others = ['a text', 7, ['a'], null].map(payload => make.event({ payload }))
    expect(meaningsOf(await write(others, { index: 'flat' })).map(([index]) => index)).toEqual([0, 1, 2])
  })

  it('E2: what a block, a missing index and a wrong name mean', async () => {
    for (const name of ['blocked', 'full']) await node.ask('PUT', `/${name}`)
    await node.ask('PUT', '/blocked/_settings', { 'index.blocks.write': true })
    await node.ask('PUT', '/full/_settings', { 'index.blocks.read_only_allow_delete': true })
    await node.ask('PUT', '/_cluster/settings', {
      transient: { 'action.auto_create_index': '-absent,+*' },
    })
    const events = ['blocked', 'full', 'absent', 'present'].map(key => make.event({ key }))
    const meanings = meaningsOf(await write(events, { index: ({ key }) => key! }))
    expect(meanings).toEqual([
      [0, false, 'integration', expect.stringMatching(/403: cluster_block_exception/)],
      [1, true, 'transient', expect.stringMatching(/429: cluster_block_exception/)],
      [2, false, 'business', expect.stringMatching(/404: index_not_found_exception/)],
    ])
    expect(await node.documents('present')).toHaveLength(1)
  })

  it('E17: a data stream takes each event once', async () => {
    await node.ask('PUT', '/_index_template/logs', {
      index_patterns: ['logs-*'],
      data_stream: {},
      template: { mappings: { properties: { payload: { type: 'flat_object' } } } },
    })
    const dataStream = 'logs-shop-default'
    const events = make.events(3)
    for (let sending = 0; sending < 2; sending++)
      expect(meaningsOf(await write(events, { dataStream }))).toEqual([])
    expect((await node.documents(dataStream)).map(({ id }) => id)).toEqual(events.map(({ id }) => id))
    const { data_streams: streams } = await node.ask('GET', `/_data_stream/${dataStream}`)
    expect(streams).toHaveLength(1)
  })

  it('E18: the probe asks for the root', async () => {
    const sink = elasticsearch({ url: node.url })
    await sink.probe!(never())
    await sink.close!()
  })

  it('E21: stores each event once when it is frozen and killed', async () => {
    const deadLetters = memoryDeadLetters()
    const events = createDispatcher({
      sinks: { search: elasticsearch({ url: node.url, index: 'survived' }) },
      deadLetters,
      overrides: {
        search: {
          retry: { attempts: 10_000, backoff: fixed({ delayMs: 50 }) },
          timeoutMs: 5_000,
          batch: { maxCount: 20 },
          breaker: 'off',
        },
      },
    })
    const tracked: ReturnType<typeof events.track>[] = []
    const track = (count: number) => {
      for (let n = 0; n < count; n++) tracked.push(events.track({ type: 'order.paid', payload: { n } }))
    }
    track(200)
    await tracked[0]
    node.freeze()
    track(200)
    node.thaw()
    await tracked[200]
    track(200)
    await node.kill()
    await node.start()
    const ids = (await Promise.all(tracked)).map(({ event }) => event!.id)
    await timing.eventually(async () => {
      const { status } = await node.ask('GET', '/_cluster/health/survived')
      return status !== 'red'
    }, 'the index after the restart')
    const stored = (await node.documents('survived')).map(({ id }) => id)
    expect(stored.toSorted()).toEqual(ids.toSorted())
    expect((await deadLetters.list({})).letters).toEqual([])
    await events.close()
  })
})
