import * as Sentry from '@sentry/node'
import { afterEach, describe, expect, it } from 'vitest'
import { sentryReceiver } from '../../../../test/receivers/sentry.ts'
import {
  clientFor,
  closeClients,
  errorEvent,
  errorEvents,
  make,
  withSentry,
} from '../../../../test/support/sentry-world.ts'
import { neverAborted, rejection } from '../../../../test/support/sink-writes.ts'
import { classify } from '../../../core/failure/classify.ts'
import { fixed } from '../../../core/retry/fixed.ts'
import { createDispatcher } from '../../../runtime/dispatcher/dispatcher.ts'
import { TestTiming } from '../../../testing/conformance/harness.ts'
import { memoryDeadLetters } from '../../memory/letters/dead-letters.ts'
import { sentry } from './sink.ts'

const timing = new TestTiming({})

afterEach(closeClients)

describe('Sentry sink', () => {
  it('E17: an error is an exception with its stack, tags, fingerprint, trace and what came before it', async () => {
    await withSentry(
      ({ dsn }) => ({
        dsn,
        release: 'shop@1.2.3',
        environment: 'staging',
        tags: () => ({ 'tenant name': 'acme\ncorp', long: 'x'.repeat(300) }),
        fingerprint: ({ type }) => [type, 'card'],
      }),
      async (receiver, sink) => {
        const error = new TypeError('card declined')
        const event = make.event({
          id: '01890a5d-ac96-774b-bcce-b302099a8057',
          type: 'payment.failed',
          key: 'order-1',
          headers: { severity: 'critical', traceparent: `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01` },
          payload: { orderId: 7, error: { name: error.name, message: error.message, stack: error.stack! } },
        })
        const before = make.event({ headers: { severity: 'warn' }, payload: { message: 'slow' } })
        await sink.write([before, event], neverAborted())
        const [sent] = receiver.arrivals
        expect(sent).toMatchObject({
          event_id: '01890a5dac96774bbcceb302099a8057',
          level: 'fatal',
          release: 'shop@1.2.3',
          environment: 'staging',
          fingerprint: ['payment.failed', 'card'],
          tags: {
            'event.type': 'payment.failed',
            'event.channel': 'orders',
            tenant_name: 'acme corp',
            long: 'x'.repeat(200),
          },
          contexts: {
            trace: { trace_id: 'ab'.repeat(16), span_id: 'cd'.repeat(8) },
            event: { id: event.id, key: 'order-1' },
          },
          exception: { values: [{ type: 'TypeError', value: 'card declined' }] },
          extra: { payload: { orderId: 7 } },
          breadcrumbs: [
            { category: 'order.placed', level: 'warning', message: 'slow', data: { id: before.id } },
          ],
        })
        const { exception } = sent as unknown as { exception: { values: { stacktrace: Stack }[] } }
        const { frames } = exception.values[0]!.stacktrace
        expect(frames.at(-1)!.filename).toContain('events.int.test.ts')
      },
    )
  })

  it('E17: without an error it is a message, grouped by its type; payloads can be kept back', async () => {
    await withSentry(
      ({ dsn }) => ({ dsn, payload: false }),
      async (receiver, sink) => {
        await sink.write([make.event({ payload: { secret: 1 } }), errorEvent({ secret: 2 })], neverAborted())
        expect(receiver.arrivals[0]).toMatchObject({
          message: 'payment.failed',
          fingerprint: ['payment.failed'],
        })
        expect(receiver.requests[0]!.body.toString()).not.toContain('secret')
      },
    )
  })

  it('E17: an event that comes again has the same id, so Sentry keeps one, and its breadcrumbs are there once', async () => {
    await withSentry(
      ({ dsn }) => ({ dsn, maxBreadcrumbs: 2 }),
      async (receiver, sink) => {
        const crumbs = make.events(3)
        const batch = [...crumbs, { ...errorEvent(), id: 'an id of their own' }]
        receiver.misbehaveNext('reset-after')
        await rejection(sink.write(batch, neverAborted()))
        await sink.write(batch, neverAborted())
        expect(receiver.arrivals).toHaveLength(2)
        expect(receiver.events.size).toBe(1)
        const shown = receiver.arrivals[1]!['breadcrumbs'] as { data: { id: string } }[]
        expect(shown).toHaveLength(2)
      },
    )
  })

  it('E17: an event that a function of the options cannot bear is refused alone', async () => {
    const tags = ({ payload }: { readonly payload: unknown }) => ({
      name: (payload as { name: string }).name,
    })
    await withSentry(
      ({ dsn }) => ({ dsn, tags }),
      async (receiver, sink) => {
        const result = await sink.write(
          [errorEvent({ name: 'a' }), errorEvent(null), errorEvent()],
          neverAborted(),
        )
        expect(result!.rejected.map(({ index }) => index)).toEqual([1])
        expect(classify(result!.rejected[0]!.error)).toMatchObject({ retryable: false, category: 'schema' })
        expect(receiver.arrivals).toHaveLength(2)
      },
    )
  })

  it('E17: others become logs in one request, each outcome told', async () => {
    await withSentry(
      ({ dsn }) => ({ dsn, others: 'logs' }),
      async (receiver, sink) => {
        const batch = [...make.events(150), errorEvent()]
        expect(await sink.write(batch, neverAborted())).toEqual({ rejected: [] })
        expect(receiver.requests).toHaveLength(3)
        expect(receiver.logs).toHaveLength(150)
        expect(receiver.logs[0]).toMatchObject({
          level: 'info',
          body: 'order.placed',
          attributes: { 'event.id': { value: batch[0]!.id }, 'event.payload': { value: '{"amount":42}' } },
        })
        receiver.misbehaveNext({ status: 400 })
        const result = await sink.write([...make.events(2), errorEvent()], neverAborted())
        expect(result!.rejected.map(({ index }) => index)).toEqual([0, 1])
      },
    )
  })

  it('E17: what the service has set up with Sentry.init is neither read nor changed', async () => {
    const [ours, theirs] = [await sentryReceiver(), await sentryReceiver()]
    const service = Sentry.init({ dsn: theirs.dsn, defaultIntegrations: false })
    const sink = sentry({ dsn: ours.dsn })
    const surroundings = () => [
      Sentry.getClient(),
      Sentry.lastEventId(),
      process.listenerCount('uncaughtException'),
    ]
    const exits = process.listenerCount('beforeExit')
    try {
      await Sentry.withIsolationScope(async scope => {
        scope.setUser({ id: 'somebody' })
        Sentry.getCurrentScope().setTag('request', '17')
        Sentry.captureException(new Error('of the service'))
        const before = surroundings()
        await sink.write([make.event(), errorEvent()], neverAborted())
        expect(surroundings()).toEqual(before)
        Sentry.captureException(new Error('of the service as well'))
        await Sentry.flush()
      })
      expect(ours.arrivals).toHaveLength(1)
      expect(ours.arrivals[0]!['user']).toBeUndefined()
      expect(Object.keys(ours.arrivals[0]!['tags'] as object)).toEqual(['event.type', 'event.channel'])
      expect(theirs.arrivals.map(event => event['tags'])).toEqual([{ request: '17' }, { request: '17' }])
      expect(theirs.arrivals[1]!['breadcrumbs'] ?? []).toEqual([])
    } finally {
      await sink.close!()
      expect(process.listenerCount('beforeExit')).toBe(exits)
      await service?.close(1)
      await Promise.all([ours.close(), theirs.close()])
    }
  })

  it.each([
    ['beforeSend', { beforeSend: () => null }],
    ['beforeSend that takes its time', { beforeSend: () => timing.quiet().then(() => null) }],
    ['sampling', { sampleRate: 0 }],
  ])('E17: what %s of a client of the service does not want counts as taken', async (_, options) => {
    await withSentry(
      receiver => ({ client: clientFor(receiver, options) }),
      async (receiver, sink) => {
        expect(await sink.write(errorEvents(2), neverAborted())).toEqual({ rejected: [] })
        expect(receiver.arrivals).toEqual([])
      },
    )
  })

  it('E17: hooks of a client of the service apply, slow ones too', async () => {
    const beforeSend = async (event: Sentry.ErrorEvent) => {
      await timing.quiet()
      return { ...event, extra: { scrubbed: true } }
    }
    await withSentry(
      receiver => ({ client: clientFor(receiver, { beforeSend }) }),
      async (receiver, sink) => {
        expect(await sink.write(errorEvents(2), neverAborted())).toEqual({ rejected: [] })
        expect(receiver.arrivals.map(event => event['extra'])).toEqual([
          { scrubbed: true },
          { scrubbed: true },
        ])
      },
    )
  })

  it('E2: a client that drops because it has no room is told, not taken for granted', async () => {
    const receiver = await sentryReceiver()
    const client = clientFor(receiver, { transportOptions: { bufferSize: 1 } })
    const sink = sentry({ client })
    try {
      receiver.misbehaveNext('hang')
      client.captureMessage('somebody else, who hangs')
      await timing.eventually(() => receiver.requests.length === 1, 'the other request')
      expect(classify(await rejection(sink.write([errorEvent()], neverAborted()))).retryable).toBe(true)
    } finally {
      await sink.close!()
      await receiver.close()
    }
  })

  it('E2: so is one that samples all and is busy with others', async () => {
    const busy = {
      sampleRate: 1,
      transportOptions: { bufferSize: 1 },
      beforeSend: () => new Promise(() => {}),
    }
    await withSentry(
      receiver => {
        const client = clientFor(receiver, busy)
        client.captureMessage('somebody else, who is not done')
        return { client }
      },
      async (_, sink) => {
        const error = await rejection(sink.write([errorEvent()], neverAborted()))
        expect(String(error)).toContain('too many events in flight')
        expect(classify(error).retryable).toBe(true)
      },
    )
  })

  it('E2: a client without a DSN is told as such', async () => {
    const client = new Sentry.NodeClient({
      integrations: [],
      stackParser: Sentry.defaultStackParser,
      transport: Sentry.makeNodeTransport,
    })
    const error = await rejection(sentry({ client }).write([errorEvent()], neverAborted()))
    expect(String(error)).toContain('no DSN')
    expect(classify(error).retryable).toBe(false)
  })

  it('E17: hanging requests are aborted with their write, so that none stays open forever', async () => {
    // As many as the SDK has connections: those that are not ended leave none for the next write.
    const connections = 30
    await withSentry(
      ({ dsn }) => ({ dsn, concurrency: connections, others: 'logs' }),
      async (receiver, sink) => {
        receiver.misbehave('hang')
        const rounds = [[errorEvents(connections)], Array.from({ length: connections }, () => [make.event()])]
        for (const [round, batches] of rounds.entries()) {
          const stop = new AbortController()
          const stopped = batches.map(batch => rejection(sink.write(batch, { signal: stop.signal })))
          const hanging = (round + 1) * connections
          await timing.eventually(() => receiver.requests.length === hanging, 'the requests')
          stop.abort(new Error('time is over'))
          for (const error of await Promise.all(stopped)) expect(String(error)).toContain('time is over')
        }
        receiver.misbehave(undefined)
        expect(await sink.write([...errorEvents(2), make.event()], neverAborted())).toEqual({ rejected: [] })
      },
    )
  })

  it('E17: through a dispatcher, an ingest that fails on command loses nothing', async () => {
    await withSentry(
      ({ dsn }) => ({ dsn }),
      async (receiver, sink) => {
        receiver.misbehaveNext({ status: 503 }, 'reset', { status: 429, headers: { 'retry-after': '0' } })
        const events = createDispatcher({
          sinks: { sentry: sink },
          deadLetters: memoryDeadLetters(),
          retry: { attempts: 8, backoff: fixed({ delayMs: 5 }) },
        })
        const tracked = errorEvents(6).map(({ type, payload }) =>
          events.track({ type, payload, severity: 'error' }),
        )
        const outcomes = (await Promise.all(tracked)).map(({ sinks }) => sinks['sentry']!.outcome)
        expect(outcomes).toEqual(Array(6).fill('delivered'))
        expect(receiver.events.size).toBe(6)
        await events.close()
      },
    )
  })

  it('F7: options are checked once; the key of a DSN is not shown', async () => {
    expect(() => sentry({})).toThrow('give either dsn or client')
    expect(() => sentry({ dsn: 'https://hunter2@host/nonsense' })).toThrow(/^(?!.*hunter2)[\s\S]*give a DSN/)
    const client = { captureEvent() {}, sendEnvelope() {} } as never
    expect(() => sentry({ client, release: 'x', environment: 'y' })).toThrow('2 faults')
    expect(() => sentry({ client, capture: ['loud'] } as never)).toThrow('got "loud"; give one of \'trace\'')
    const dead = sentry({ dsn: 'http://hunter2@127.0.0.1:9/1' })
    expect(String(await rejection(dead.write([errorEvent()], neverAborted())))).not.toContain('hunter2')
    await dead.close!()
  })
})

interface Stack {
  readonly frames: readonly { readonly filename: string }[]
}
