import { afterEach, describe, expect, it } from 'vitest'
import { type SentryReceiver, sentryReceiver } from '../../../../test/receivers/sentry.ts'
import {
  clientFor,
  closeClients,
  errorEvent,
  errorEvents,
  make,
  sentryIdsOf,
  withSentry,
} from '../../../../test/support/sentry-world.ts'
import { neverAborted, rejection } from '../../../../test/support/sink-writes.ts'
import { classify } from '../../../core/failure/classify.ts'
import { sinkConformance } from '../../../testing/conformance/sink.ts'
import { SEVERITIES } from '../severity.ts'
import { sentryId } from './event.ts'
import type { SentryOptions } from './options.ts'
import { sentry } from './sink.ts'

afterEach(closeClients)

const ways: Record<string, (receiver: SentryReceiver) => SentryOptions> = {
  'a DSN': ({ dsn }) => ({ dsn }),
  'a client of the service': receiver => ({ client: clientFor(receiver) }),
}

describe.each(Object.entries(ways))('Sentry sink with %s', (way, options) => {
  sinkConformance({
    test: it,
    declares: { setFailing: true, hang: true, refuse: true },
    async setup() {
      const receiver = await sentryReceiver()
      return {
        // One request for each event: with several at once their order would not be kept.
        sink: sentry({ ...options(receiver), capture: SEVERITIES, concurrency: 1 }),
        received: async () => receiver.arrivals.map(idInContext),
        setFailing: isFailing => receiver.misbehave(isFailing ? { status: 503 } : undefined),
        hang: () => receiver.misbehave('hang'),
        refuse: ids => receiver.refuse(ids.map(sentryId)),
        cleanup: () => receiver.close(),
      }
    },
  })

  it('E2: a rate limit is told with its time, and nothing is sent before it is over', async () => {
    await withSentry(options, async (receiver, sink) => {
      receiver.misbehaveNext({ status: 429, headers: { 'retry-after': '30' } })
      const first = await rejection(sink.write([errorEvent()], neverAborted()))
      expect(classify(first)).toMatchObject({ retryable: true, category: 'transient', retryAfterMs: 30_000 })
      const second = classify(await rejection(sink.write(errorEvents(3), neverAborted())))
      expect(second.retryAfterMs).toBeGreaterThan(29_000)
      expect(second.message).toContain('its rate limit is still in effect')
      expect(classify(await rejection(sink.probe!(neverAborted()))).retryAfterMs).toBeGreaterThan(29_000)
      expect(receiver.requests).toHaveLength(1)
    })
  })

  it('E2: a limit that comes with a success counts from the next event on, for its category alone', async () => {
    await withSentry(options, async (receiver, sink) => {
      receiver.announceLimits('120:transaction;log_item:key, 60:error;default:organization:quota')
      const result = await sink.write([errorEvent()], neverAborted())
      expect(result).toEqual({ rejected: [] })
      const failure = classify(await rejection(sink.write([errorEvent()], neverAborted())))
      expect(failure.retryAfterMs).toBeGreaterThan(59_000)
      expect(failure.retryAfterMs).toBeLessThanOrEqual(60_000)
      expect(receiver.arrivals).toHaveLength(1)
    })
  })

  it.each([
    [400, 'schema', false],
    [401, 'integration', false],
    [403, 'integration', false],
    [413, 'schema', false],
    [500, 'integration', true],
    [503, 'transient', true],
  ])('E2: %i is %s, retryable %s', async (status, category, retryable) => {
    await withSentry(options, async (receiver, sink) => {
      receiver.misbehave({ status })
      const batch = [errorEvent()]
      const written = sink.write(batch, neverAborted())
      const error = retryable ? await rejection(written) : (await written)!.rejected[0]!.error
      expect(classify(error)).toMatchObject({ retryable, category })
      expect(classify(await rejection(sink.probe!(neverAborted()))).retryable).toBe(retryable)
    })
  })

  it('E2: a connection that breaks is worth another attempt', async () => {
    await withSentry(options, async (receiver, sink) => {
      receiver.misbehave('reset')
      expect(classify(await rejection(sink.write(errorEvents(20), neverAborted()))).retryable).toBe(true)
      // After the first that nobody answered the others are not even tried.
      expect(receiver.requests.length).toBeLessThanOrEqual(10)
      receiver.misbehave(undefined)
      const batch = errorEvents(2)
      expect(await sink.write(batch, neverAborted())).toEqual({ rejected: [] })
      await receiver.close()
      const refused = classify(await rejection(sink.write([errorEvent()], neverAborted())))
      expect(refused.retryable).toBe(true)
      if (way === 'a DSN') expect(refused.code).toBe('LAZARET_SINK_UNREACHABLE')
    })
  })

  it('E17: the rest of a partly refused batch arrives, and breadcrumbs do not hide a failing Sentry', async () => {
    await withSentry(options, async (receiver, sink) => {
      const batch = [make.event(), ...errorEvents(3), make.event()]
      receiver.refuse([sentryId(batch[2]!.id)])
      const result = await sink.write(batch, neverAborted())
      expect(result!.rejected.map(({ index }) => index)).toEqual([2])
      expect([...receiver.events.keys()].sort()).toEqual(sentryIdsOf([batch[1]!, batch[3]!]).sort())
      receiver.misbehave({ status: 500 })
      await rejection(sink.write([make.event(), errorEvent()], neverAborted()))
    })
  })

  it('E17: more events than the SDK has room for at once all arrive', async () => {
    await withSentry(options, async (receiver, sink) => {
      const batch = errorEvents(200)
      expect(await sink.write(batch, neverAborted())).toEqual({ rejected: [] })
      expect([...receiver.events.keys()].sort()).toEqual(sentryIdsOf(batch).sort())
    })
  })
})

function idInContext(event: Readonly<Record<string, unknown>>): string {
  return (event['contexts'] as { event: { id: string } }).event.id
}
