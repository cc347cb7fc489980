import { describe, expect, it } from 'vitest'
import { changed } from '../../../test/support/conformance.ts'
import { consumerWorld, refused } from '../../../test/support/consumer-world.ts'
import { memoryBroker } from '../../adapters/memory/index.ts'
import { PermanentError } from '../../core/failure/signals.ts'
import { fixed } from '../../core/retry/fixed.ts'
import type { Notice } from '../../ports/notifier.ts'
import { createFactory } from '../../testing/factories.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { failureLog } from '../failure-log.ts'

const fails = async () => {
  throw refused()
}
const retry = { attempts: 3, backoff: fixed({ delayMs: 1_000, jitter: 'none' }) } as const

/** Every field that an alert needs, of an event that failed three times. */
const FIELDS = {
  eventId: expect.any(String),
  type: 'order.placed',
  channel: 'orders',
  source: '/shop/checkout',
  target: 'billing',
  handler: 'billing',
  lastError: 'Error: connect ECONNREFUSED',
  attempts: 3,
  reason: 'attempts_exhausted',
  category: 'transient',
  replay: 0,
  firstFailedAt: expect.stringMatching(/Z$/),
  lastFailedAt: expect.stringMatching(/Z$/),
  letterId: expect.any(String),
}

describe('an event that is given up on', () => {
  it('S7: is told of with event id, type, source, target, handler, last error and attempts', async () => {
    const notices: Notice[] = []
    const { consumer, publish, clock, letters } = consumerWorld({
      name: 'billing',
      retry,
      handle: fails,
      notifier: { notify: async notice => void notices.push(notice) },
    })
    await consumer.start()
    await publish({ payload: { secret: 1 }, source: '/shop/checkout' })
    await clock.advance(10_000)
    const [letter] = await letters()
    expect(notices).toEqual([{ kind: 'dead_letter', at: letter!.updatedAt, failed: FIELDS, letter }])
    expect(notices[0]).toMatchObject({ failed: { eventId: letter!.event.id, letterId: letter!.id } })
    expect(JSON.stringify((notices[0] as { failed: unknown }).failed)).not.toContain('secret')
    await consumer.close()
  })

  it('S7: is a line of the log, with the same fields', async () => {
    const lines: string[] = []
    const { consumer, publish, clock } = consumerWorld({
      name: 'billing',
      retry,
      handle: fails,
      observer: failureLog(line => void lines.push(line)),
    })
    await consumer.start()
    await publish({ source: '/shop/checkout' })
    await clock.advance(10_000)
    expect(lines.map(line => JSON.parse(line))).toEqual([{ level: 'error', what: 'event failed', ...FIELDS }])
    await consumer.close()
  })

  it('S7: is told of without what its error should not have said', async () => {
    const notices: Notice[] = []
    const { consumer, publish, clock } = consumerWorld({
      handle: async () => {
        throw new PermanentError('no answer from postgres://shop:hunter2@db/shop')
      },
      notifier: { notify: async notice => void notices.push(notice) },
    })
    await consumer.start()
    await publish('a')
    await clock.advance(0)
    const { failed } = notices[0] as { failed: { lastError: string } }
    expect(failed.lastError).toContain('no answer from postgres:')
    expect(failed.lastError).not.toContain('hunter2')
    await consumer.close()
  })

  it('E12, S7: nobody is told of a letter that the filter did not keep: there is none', async () => {
    const notices: Notice[] = []
    const dead: string[] = []
    const trail = {
      attempt: () => ({ run: (work: () => void) => work(), end() {}, discard() {} }),
      failed() {},
      dead: () => void dead.push('told'),
    }
    const { consumer, publish, clock, recorder, letters } = consumerWorld({
      handle: async () => {
        throw new PermanentError('never')
      },
      filter: { never: ['health_check.*'] },
      notifier: { notify: async notice => void notices.push(notice) },
      tracing: {
        publish: () => undefined,
        follow: () => trail,
        call: () => undefined,
        write: () => undefined,
        context: () => undefined,
      },
    })
    await consumer.start()
    await publish({ type: 'health_check.failed' })
    await clock.advance(0)
    expect([notices, dead, await letters()]).toEqual([[], [], []])
    expect(recorder.count('letterFiltered')).toBe(1)
    expect(recorder.of('eventProcessed').map(({ outcome }) => outcome)).toEqual(['dead'])
    await publish({ type: 'order.placed' })
    await clock.advance(0)
    expect([notices.length, dead.length, (await letters()).length]).toEqual([1, 1, 1])
    await consumer.close()
  })

  it('S7: is told of once, when it is settled and not before', async () => {
    const clock = new FakeClock()
    const whole = memoryBroker({ clock })
    const connection = { breaks: 1 }
    const broker = changed(whole, () => ({
      subscribe: async (...args) => {
        const subscription = await whole.subscribe(...args)
        return changed(subscription, () => ({
          settle(delivery, settlement) {
            if (connection.breaks-- <= 0) return subscription.settle(delivery, settlement)
            void subscription.settle(delivery, { outcome: 'release', notBefore: 0 })
            throw new Error('the connection broke')
          },
        }))
      },
    }))
    const notices: Notice[] = []
    const { consumer, recorder } = consumerWorld({
      clock,
      broker,
      handle: async () => {
        throw new PermanentError('never')
      },
      notifier: { notify: async notice => void notices.push(notice) },
    })
    await consumer.start()
    await whole.publish([createFactory({ clock, random: seededRandom(1) }).event({ channel: 'orders' })])
    await clock.advance(0)
    expect(recorder.count('settlementFailed')).toBe(1)
    expect(notices.map(({ kind }) => kind)).toEqual(['dead_letter'])
    await consumer.close()
  })

  it('S7: is safe when nobody can be told', async () => {
    for (const notify of [
      async () => Promise.reject(new Error('no webhook')),
      () => {
        throw new Error('no webhook')
      },
    ]) {
      const { consumer, publish, clock, letters, recorder } = consumerWorld({
        handle: async () => {
          throw new PermanentError('never')
        },
        notifier: { notify },
      })
      await consumer.start()
      await publish('a')
      await clock.advance(0)
      expect(await letters()).toHaveLength(1)
      expect(recorder.of('eventProcessed').map(({ outcome }) => outcome)).toEqual(['dead'])
      expect(recorder.of('noticeFailed')).toMatchObject([
        { channel: 'orders', error: { message: 'no webhook' } },
      ])
      await consumer.close()
    }
  })
})
