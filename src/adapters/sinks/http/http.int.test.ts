import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { type Receiver, startReceiver } from '../../../../test/receivers/receiver.ts'
import { webhookReceiver } from '../../../../test/receivers/webhook.ts'
import { failureOf, make, never, withReceiver } from '../../../../test/support/sinks.ts'
import { classify } from '../../../core/failure/classify.ts'
import { sinkConformance } from '../../../testing/conformance/sink.ts'
import { http, webhook } from './http.ts'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const OLD_SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'

describe('http sink, batches', () => {
  sinkConformance({
    test: it,
    declares: { setFailing: true, hang: true, refuse: false },
    setup: async () => {
      const receiver = await webhookReceiver()
      return {
        sink: http({ url: receiver.url }),
        received: async () => receiver.taken.map(({ id }) => String(id)),
        setFailing: isFailing => receiver.misbehave(isFailing ? { status: 503 } : undefined),
        hang: () => receiver.misbehave('hang'),
        cleanup: receiver.close,
      }
    },
  })
})

describe('webhook sink', () => {
  sinkConformance({
    test: it,
    declares: { setFailing: true, hang: true, refuse: true },
    setup: async () => {
      const receiver = await webhookReceiver({ secret: SECRET })
      return {
        sink: webhook({ url: receiver.url, secret: SECRET, concurrency: 1 }),
        received: async () => receiver.taken.map(({ id }) => String(id)),
        setFailing: isFailing => receiver.misbehave(isFailing ? { status: 500 } : undefined),
        hang: () => receiver.misbehave('hang'),
        refuse: ids => receiver.refuse(ids),
        cleanup: receiver.close,
      }
    },
  })

  it('S7: each event is signed by every key, so that a receiver with either takes it', async () => {
    for (const secret of [SECRET, OLD_SECRET])
      await withReceiver(webhookReceiver({ secret }), async (receiver, open) => {
        const sink = open(webhook({ url: receiver.url, secret: [SECRET, OLD_SECRET] }))
        const events = make.events(20)
        expect(await sink.write(events, never())).toBeUndefined()
        expect(receiver.deliveryIds.toSorted()).toEqual(events.map(({ id }) => id))
        expect(receiver.requests[0]?.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/)
      })
  })

  it('S7: a wrong key is not let in, and the error shows none', async () => {
    await withReceiver(webhookReceiver({ secret: OLD_SECRET }), async (receiver, open) => {
      const sink = open(webhook({ url: receiver.url, secret: SECRET }))
      const error = await failureOf(sink.write([make.event()], never()))
      expect(error).toMatchObject({ code: 'LAZARET_SINK_REFUSED', status: 401, retryable: false })
      expect(JSON.stringify([error, error.message])).not.toContain('MfKQ9r8G')
    })
  })

  it('E17: an id with dots is still one delivery, the same at every sending', async () => {
    await withReceiver(webhookReceiver({ secret: SECRET }), async (receiver, open) => {
      const sink = open(webhook({ url: receiver.url, secret: SECRET }))
      const event = make.event({ id: 'a.b/é' })
      await sink.write([event], never())
      await sink.write([event], never())
      expect(receiver.deliveryIds).toEqual(['a%2Eb%2F%C3%A9', 'a%2Eb%2F%C3%A9'])
      expect(receiver.taken[0]).toMatchObject({ type: 'order.placed', data: { amount: 42 }, id: 'a.b/é' })
    })
  })

  it('E17: of events that are sent one by one only those that failed are named', async () => {
    await withReceiver(webhookReceiver({ secret: SECRET }), async (receiver, open) => {
      const sink = open(webhook({ url: receiver.url, secret: SECRET, concurrency: 1 }))
      const events = make.events(4)
      receiver.refuse([events[0]!.id])
      receiver.misbehaveNext(undefined, { status: 500 }, undefined)
      const result = await sink.write(events, never())
      expect(result?.rejected.map(({ index, error }) => [index, classify(error).retryable])).toEqual([
        [0, false],
        [1, true],
      ])
      expect(receiver.taken.map(({ id }) => id)).toEqual([events[2]!.id, events[3]!.id])
    })
  })

  it('E4: a receiver that asks for a pause gets it: nothing more of the batch is sent', async () => {
    await withReceiver(webhookReceiver({ secret: SECRET }), async (receiver, open) => {
      const sink = open(webhook({ url: receiver.url, secret: SECRET, concurrency: 1 }))
      receiver.misbehaveNext(undefined, { status: 429, headers: { 'retry-after': '7' } })
      const result = await sink.write(make.events(5), never())
      expect(receiver.requests).toHaveLength(2)
      expect(result?.rejected.map(({ index }) => index)).toEqual([1, 2, 3, 4])
      expect(classify(result?.rejected[3]?.error).retryAfterMs).toBe(7_000)
    })
  })
})

describe('http sink', () => {
  const plain = () => webhookReceiver()

  it('E2: what an answer means', async () => {
    await withReceiver(plain(), async (receiver, open) => {
      const sink = open(http({ url: receiver.url }))
      const meaning = async (status: number) => {
        receiver.misbehaveNext({ status, headers: { location: '/elsewhere' } })
        const { retryable, category } = classify(await failureOf(sink.write([make.event()], never())))
        return [status, retryable, category]
      }
      const statuses = [302, 307, 400, 401, 404, 408, 410, 422, 425, 429, 500, 502, 503]
      const meanings = []
      for (const status of statuses) meanings.push(await meaning(status))
      expect(meanings).toEqual([
        [302, false, 'integration'],
        [307, false, 'integration'],
        [400, false, 'schema'],
        [401, false, 'integration'],
        [404, false, 'business'],
        [408, true, 'transient'],
        [410, false, 'business'],
        [422, false, 'schema'],
        [425, true, 'transient'],
        [429, true, 'transient'],
        [500, true, 'integration'],
        [502, true, 'transient'],
        [503, true, 'transient'],
      ])
      expect(receiver.requests).toHaveLength(statuses.length)
    })
  })

  it('B1: Retry-After is understood in seconds and as a date', async () => {
    await withReceiver(plain(), async (receiver, open) => {
      const sink = open(http({ url: receiver.url }))
      for (const after of ['120', new Date(2_000_000_000_000).toUTCString()]) {
        receiver.misbehaveNext({ status: 503, headers: { 'retry-after': after } })
        const { retryAfterMs } = classify(await failureOf(sink.write([make.event()], never())))
        expect(retryAfterMs).toBeGreaterThanOrEqual(120_000)
      }
    })
  })

  it('E17: a batch larger than a request goes in several, and halves where even that is too large', async () => {
    await withReceiver(webhookReceiver({ maxBodyBytes: 3_000 }), async (receiver, open) => {
      const sink = open(http({ url: receiver.url, maxRequestBytes: 10_000, maxRequestEvents: 30 }))
      const events = make.events(100)
      const large = make.event({ payload: 'x'.repeat(5_000) })
      const result = await sink.write([...events, large], never())
      expect(receiver.taken.map(({ id }) => id)).toEqual(events.map(({ id }) => id))
      expect(result?.rejected).toMatchObject([{ index: 100, error: { status: 413, retryable: false } }])
    })
  })

  it('E2: a connection that is reset, or nobody there, may be tried again and is said without secrets', async () => {
    await withReceiver(plain(), async (receiver, open) => {
      const url = receiver.url.replace('//', '//user:pa%24sword@')
      const sink = open(http({ url: `${url}/services/T0/B0?token=abcdefgh` }))
      receiver.misbehave('reset')
      const reset = await failureOf(sink.write([make.event()], never()))
      await receiver.close()
      const gone = await failureOf(sink.write([make.event()], never()))
      for (const error of [reset, gone]) {
        expect(error).toMatchObject({ code: 'LAZARET_SINK_UNREACHABLE', retryable: true })
        expect(error.message).toContain(`http ${receiver.url}: `)
        expect(`${error.message}${error.stack}`).not.toMatch(/pa\$sword|pa%24|abcdefgh|services/)
      }
      expect(gone.message).toContain('ECONNREFUSED')
    })
  })

  it('B5: an answer that is not HTTP is an integration failure, and can be retried', async () => {
    const stranger = createServer(socket => socket.end('SSH-2.0-OpenSSH_9.2\r\n')).listen(0, '127.0.0.1')
    await once(stranger, 'listening')
    const sink = http({ url: `http://127.0.0.1:${(stranger.address() as AddressInfo).port}` })
    const failure = classify(await failureOf(sink.write([make.event()], never())))
    expect(failure).toMatchObject({ retryable: true, category: 'integration' })
    await sink.close?.()
    stranger.close()
  })

  it('E17: a server that echoes secrets does not get them into errors', async () => {
    await withReceiver(plain(), async (receiver, open) => {
      const sink = open(http({ url: `${receiver.url}/hook/very-secret-path`, token: 'tok-1234567' }))
      receiver.misbehave({ status: 403, body: 'no: Bearer tok-1234567 at /hook/very-secret-path' })
      const { message } = await failureOf(sink.write([make.event()], never()))
      expect(message).toContain('answered 403: no: Bearer *** at ***; check the credentials')
    })
  })

  it('E17: nor those of the URL and of headers, in whatever form it echoes them', async () => {
    await withReceiver(plain(), async (receiver, open) => {
      const url = `${receiver.url.replace('//', '//user:pa%24sword@')}?sig=a%2Fbcd&long=a%2Fbcdefgh`
      const headers = { 'x-api-key': 'hunter2', 'x-team': 'shop' }
      const sink = open(http({ url, headers }))
      const basic = Buffer.from('user:pa$sword').toString('base64')
      receiver.misbehave({ status: 403, body: `shop: ${basic} pa%24sword a%2Fbcd a/bcdefgh hunter2` })
      const { message } = await failureOf(sink.write([make.event()], never()))
      expect(message).toContain('answered 403: shop: *** *** *** *** ***;')
    })
  })

  it('E17: credentials of the URL become the Authorization header', async () => {
    const authorization = `Basic ${Buffer.from('user:pa$sword').toString('base64')}`
    await withReceiver(webhookReceiver({ authorization }), async (receiver, open) => {
      const sink = open(http({ url: receiver.url.replace('//', '//user:pa%24sword@') }))
      await sink.write([make.event()], never())
      expect(receiver.taken).toHaveLength(1)
    })
  })

  it('E17: an idle connection that the server closed is not a failure', async () => {
    await withReceiver(plain(), async (receiver, open) => {
      const sink = open(http({ url: receiver.url }))
      await sink.write([make.event()], never())
      receiver.misbehaveNext('reset')
      await sink.write([make.event()], never())
      receiver.dropIdle()
      await sink.write([make.event()], never())
      expect(receiver.taken).toHaveLength(3)
    })
  })

  it('E17: connections are kept open', async () => {
    await withReceiver(plain(), async (receiver, open) => {
      const sink = open(http({ url: receiver.url }))
      for (let n = 0; n < 20; n++) await sink.write([make.event()], never())
      expect(receiver.connections).toBe(1)
    })
  })

  it('E17: of an answer that is larger than anyone needs the beginning is read', async () => {
    const talkative: Promise<Receiver> = startReceiver(({ url }) => ({
      status: url === '/well' ? 200 : 500,
      body: 'x'.repeat(5_000_000),
    }))
    await withReceiver(talkative, async (receiver, open) => {
      const error = await failureOf(open(http({ url: receiver.url })).write([make.event()], never()))
      expect(error).toMatchObject({ status: 500, retryable: true })
      expect(error.message.length).toBeLessThan(600)
      const well = open(http({ url: `${receiver.url}/well` }))
      expect(await well.write([make.event()], never())).toBeUndefined()
    })
  })

  it('E17: CloudEvents, alone and in batches, and a format of one’s own', async () => {
    await withReceiver(plain(), async (receiver, open) => {
      const events = make.events(2)
      await open(http({ url: receiver.url, format: 'cloudevents' })).write(events, never())
      await open(http({ url: receiver.url, format: 'cloudevents', request: 'each' })).write(events, never())
      await open(http({ url: receiver.url, gzip: true, format: ({ id }) => ({ id }) })).write(events, never())
      expect(receiver.requests.map(({ headers }) => headers['content-type'])).toEqual([
        'application/cloudevents-batch+json',
        'application/cloudevents+json',
        'application/cloudevents+json',
        'application/json',
      ])
      expect(receiver.taken[0]).toMatchObject({ specversion: '1.0', id: events[0]!.id, data: { amount: 42 } })
      expect(receiver.taken.at(-1)).toEqual({ id: events[1]!.id })
    })
  })

  it('E17: larger bodies are compressed when the receiver is said to know how', async () => {
    await withReceiver(plain(), async (receiver, open) => {
      const events = make.events(100)
      await open(http({ url: receiver.url, gzip: true })).write(events, never())
      expect(receiver.taken).toHaveLength(100)
      expect(receiver.requests[0]!.wireBytes).toBeLessThan(receiver.requests[0]!.body.byteLength / 3)
    })
  })

  it('E18: a refused probe shows that the receiver runs, a 503 does not, and the probe is optional', async () => {
    await withReceiver(plain(), async (receiver, open) => {
      const sink = open(http({ url: receiver.url, probe: '/health' }))
      await sink.probe?.(never())
      expect(receiver.requests[0]).toMatchObject({ method: 'HEAD', url: '/health' })
      receiver.misbehave({ status: 503 })
      await expect(sink.probe?.(never())).rejects.toMatchObject({ status: 503 })
      expect(open(http({ url: receiver.url, probe: false })).probe).toBeUndefined()
    })
  })
})
