import { describe, expect, it } from 'vitest'
import { elasticsearchReceiver } from '../../../test/receivers/elasticsearch.ts'
import { lokiReceiver } from '../../../test/receivers/loki.ts'
import { webhookReceiver } from '../../../test/receivers/webhook.ts'
import { withReceiver } from '../../../test/support/sinks.ts'
import { fixed } from '../../core/retry/fixed.ts'
import { systemClock } from '../../ports/clock.ts'
import { createDispatcher } from '../../runtime/dispatcher/dispatcher.ts'
import { memoryDeadLetters } from '../memory/letters/dead-letters.ts'
import { elasticsearch } from './elasticsearch/elasticsearch.ts'
import { http } from './http/http.ts'
import { loki } from './loki/loki.ts'

const quick = { attempts: 3, backoff: fixed({ delayMs: 20 }) }

describe('sinks behind a dispatcher', () => {
  it('E17: of a bulk only the failed items are sent again, together, and what will never do is a letter', async () => {
    await withReceiver(elasticsearchReceiver({ numbers: ['payload.n'] }), async receiver => {
      const deadLetters = memoryDeadLetters()
      const sinks = { es: elasticsearch({ url: receiver.url }) }
      const events = createDispatcher({ sinks, deadLetters, retry: quick, retryLimit: 'off' })
      const busy = new Set(['id-3', 'id-5', 'id-7'])
      receiver.failItems([...busy], 429, 'es_rejected_execution_exception')
      const tracked = Array.from({ length: 10 }, (_, n) =>
        events
          .track({ type: 'x', id: `id-${n}`, payload: { n: n === 9 ? 'nine' : n } })
          .catch(() => 'thrown'),
      )
      await Promise.all(tracked.slice(0, 3))
      receiver.failItems([], 0, '')
      const results = await Promise.all(tracked)
      const { letters } = await deadLetters.list()
      await events.close()
      expect(results.filter(result => result === 'thrown')).toHaveLength(1)
      expect(receiver.created.map(({ id }) => id)).toEqual([0, 1, 2, 4, 6, 8, 3, 5, 7].map(n => `id-${n}`))
      expect(receiver.requests.map(({ body }) => body.toString().split('\n').length >> 1)).toEqual([10, 3])
      expect(letters).toMatchObject([
        { event: { id: 'id-9' }, cycle: { reason: 'permanent', category: 'schema' } },
      ])
    })
  })

  it('E17: Loki down hurts nobody else, and its letters are resent to it alone', async () => {
    await withReceiver(lokiReceiver(), async lokiServer =>
      withReceiver(webhookReceiver(), async httpServer => {
        const deadLetters = memoryDeadLetters()
        const sinks = { loki: loki({ url: lokiServer.url }), http: http({ url: httpServer.url }) }
        const events = createDispatcher({ sinks, deadLetters, retry: quick })
        lokiServer.misbehave('reset')
        const result = await events.track({ type: 'x' })
        expect(result.sinks).toMatchObject({
          http: { outcome: 'delivered' },
          loki: { outcome: 'dead_lettered', failure: { code: 'LAZARET_SINK_UNREACHABLE' } },
        })
        lokiServer.misbehave(undefined)
        for (const letter of (await deadLetters.list()).letters) await events.resend(letter)
        await events.close()
        expect([lokiServer.entries.length, httpServer.taken.length]).toEqual([1, 1])
      }),
    )
  })

  it('B5: a function of the options that throws is about its event, and never opens the breaker', async () => {
    await withReceiver(lokiReceiver(), async receiver => {
      const line = ({ type }: { readonly type: string }) => {
        if (type === 'bad') throw new TypeError('no such field')
        return type
      }
      const events = createDispatcher({
        sinks: { loki: loki({ url: receiver.url, line }) },
        deadLetters: memoryDeadLetters(),
        retry: quick,
        breaker: { failures: 1 },
      })
      const given = events.track({ type: 'bad' }, { onFailure: 'swallow' })
      expect((await given).sinks.loki).toMatchObject({ outcome: 'dead_lettered', reason: 'permanent' })
      expect((await events.track({ type: 'good' })).sinks.loki.outcome).toBe('delivered')
      await events.close()
    })
  })

  it('B1: a wait that the server asks for is waited for', async () => {
    await withReceiver(webhookReceiver(), async receiver => {
      const sinks = { http: http({ url: receiver.url }) }
      const events = createDispatcher({ sinks, deadLetters: memoryDeadLetters(), retry: quick })
      receiver.misbehaveNext({ status: 429, headers: { 'retry-after': '1' } })
      const startedAt = systemClock.now()
      expect(await events.track({ type: 'x' })).toMatchObject({ sinks: { http: { outcome: 'delivered' } } })
      expect(systemClock.now() - startedAt).toBeGreaterThanOrEqual(990)
      await events.close()
    })
  })
})
