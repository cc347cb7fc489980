import { expect, it } from 'vitest'
import { fakeNats } from '../../../test/support/fake-nats.ts'
import { systemRandom } from '../../ports/clock.ts'
import { createFactory } from '../../testing/factories.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { headerText } from './connection/headers.ts'
import { nats } from './index.ts'

const make = createFactory({ random: systemRandom })
const NO_LEADER = { code: 503, err_code: 10_077, description: 'no leader' }

it.each(['AuthorizationError', 'UserAuthenticationExpiredError'])(
  'E21: a login that is refused with %s is not called a message that is too large',
  async name => {
    const client = { connect: () => Promise.reject(Object.assign(new Error('no'), { name })) }
    const broker = nats({ url: 'nats://localhost', client })
    await expect(broker.publish(make.events(1, { channel: 'orders' }))).rejects.toMatchObject({
      code: 'LAZARET_BROKER_REFUSED',
    })
    await broker.close()
  },
)

it('B9: an event that the server refuses at first is not passed by later ones of its key', async () => {
  const stored: string[] = []
  let refusals = 1
  const client = fakeNats(({ subject, headers }) => {
    if (!subject.startsWith('orders.')) return { error: { err_code: 10_059, description: 'no stream' } }
    const id = headerText(headers, 'ce-id')!
    if (id === second!.id && refusals-- > 0) return { error: NO_LEADER }
    stored.push(id)
    return { seq: stored.length }
  })
  const broker = nats({ url: 'nats://localhost', client, declare: 'none' })
  const [first, second, third] = make.events(3, { channel: 'orders', key: 'a' })
  const [other] = make.events(1, { channel: 'orders', key: 'b' })
  await broker.publish([first!, second!, third!, other!])
  expect(stored.filter(id => id !== other!.id)).toEqual([first!.id, second!.id, third!.id])
  expect(stored).toHaveLength(4)
  await broker.close()
})

it('P1: a stream that counts from 1 again makes the publisher look at its consumers without a new connection', async () => {
  const asked: string[] = []
  let sequence = 5
  const client = fakeNats(({ subject }) => {
    if (subject.startsWith('orders.')) return { seq: sequence++ }
    asked.push(subject)
    return { error: { err_code: 10_059, description: 'no stream' } }
  })
  const broker = nats({ url: 'nats://localhost', client })
  await broker.publish(make.events(2, { channel: 'orders' }))
  const before = asked.length
  expect(before).toBeGreaterThan(0)
  await broker.publish(make.events(1, { channel: 'orders' }))
  expect(asked.length).toBe(before)
  sequence = 1
  await broker.publish(make.events(1, { channel: 'orders' }))
  await expect.poll(() => asked.length).toBe(2 * before)
  await broker.close()
})

it('P1: a message is not sent again when its stream would not recognise it any more', async () => {
  let sent = 0
  const clock = new FakeClock()
  // No request is answered, so that looking for the stream takes as long as the message itself.
  const client = fakeNats(({ subject }) => {
    if (subject.startsWith('orders.')) sent++
    return undefined
  })
  const times = { requestTimeoutMs: 60_000, publishTimeoutMs: 100_000 }
  const broker = nats({ url: 'nats://localhost', client, clock, declare: 'none', ...times })
  const published = expect(broker.publish(make.events(1, { channel: 'orders' }))).rejects.toMatchObject({
    code: 'LAZARET_BROKER_UNREACHABLE',
  })
  await clock.advance(300_000)
  await published
  expect(sent).toBe(1)
  await broker.close()
})

/** A server whose stream takes batches. `stored` is what it has, and `commits` how often it was asked to store a batch. */
function batchServer({ losesFirstAnswer = false, losesFirstSingle = false } = {}) {
  const server = { stored: [] as string[], commits: 0, refusal: 0 }
  const ids = new Set<string>()
  let batch: { readonly id: string; readonly messageId: string }[] = []
  const client = fakeNats(({ subject, headers }) => {
    if (subject.includes('STREAM.INFO.ORDERS'))
      return {
        config: { name: 'ORDERS', subjects: ['orders.>'], retention: 'limits', allow_atomic: true },
        state: {},
      }
    if (!subject.startsWith('orders.')) return { error: { err_code: 10_059, description: 'no stream' } }
    const id = headerText(headers, 'ce-id')!
    if (headerText(headers, 'Nats-Batch-Id') === undefined) {
      const messageId = headerText(headers, 'Nats-Msg-Id')!
      if (ids.has(messageId)) return { seq: server.stored.indexOf(id) + 1, duplicate: true }
      ids.add(messageId)
      server.stored.push(id)
      return losesFirstSingle && server.stored.length === 1 ? undefined : { seq: server.stored.length }
    }
    const sequence = Number(headerText(headers, 'Nats-Batch-Sequence'))
    if (sequence === 1) batch = []
    batch.push({ id, messageId: headerText(headers, 'Nats-Msg-Id')! })
    if (headerText(headers, 'Nats-Batch-Commit') === undefined) return undefined
    server.commits++
    if (server.refusal > 0) return { error: { err_code: server.refusal, description: 'no batches' } }
    if (batch.length !== sequence) return { error: { err_code: 10_176, description: 'incomplete' } }
    if (batch.some(({ messageId }) => ids.has(messageId)))
      return { error: { err_code: 10_201, description: 'duplicate' } }
    for (const each of batch) {
      ids.add(each.messageId)
      server.stored.push(each.id)
    }
    return losesFirstAnswer && server.commits === 1 ? undefined : { seq: server.stored.length }
  })
  return { server, client }
}

it('B9: events of one key are stored in one round trip, together and in their order', async () => {
  const { server, client } = batchServer()
  const broker = nats({ url: 'nats://localhost', client })
  const events = make.events(50, { channel: 'orders', key: 'a' })
  const [other] = make.events(1, { channel: 'orders', key: 'b' })
  await broker.publish([...events, other!])
  expect(server.commits).toBe(1)
  const hot = server.stored.filter(id => id !== other!.id)
  expect(hot).toEqual(events.map(({ id }) => id))
  expect(server.stored).toContain(other!.id)
  await broker.close()
})

it('B9: events of one key that are too many bytes for one batch are stored in several', async () => {
  const { server, client } = batchServer()
  const broker = nats({ url: 'nats://localhost', client })
  const payload = { text: 'x'.repeat(500_000) }
  const events = make.events(10, { channel: 'orders', key: 'a', payload })
  await broker.publish(events)
  expect(server.commits).toBe(2)
  expect(server.stored).toEqual(events.map(({ id }) => id))
  await broker.close()
})

it('P1: a batch whose answer was lost is not stored twice', async () => {
  const { server, client } = batchServer({ losesFirstAnswer: true })
  const broker = nats({ url: 'nats://localhost', client, requestTimeoutMs: 100 })
  const events = make.events(10, { channel: 'orders', key: 'a' })
  await broker.publish(events)
  expect(server.commits).toBe(2)
  expect(server.stored).toEqual(events.map(({ id }) => id))
  await broker.close()
})

it('P1: an event whose answer was lost does not make the later ones of its key count as stored', async () => {
  const { server, client } = batchServer({ losesFirstSingle: true })
  // Such a process learns only after the first failure that the stream takes batches.
  const broker = nats({ url: 'nats://localhost', client, declare: 'none', requestTimeoutMs: 100 })
  const events = make.events(10, { channel: 'orders', key: 'a' })
  await broker.publish(events)
  expect(server.stored).toEqual(events.map(({ id }) => id))
  await broker.close()
})

it.each([10_174, 10_177, 10_199])(
  'B9: events of one key are stored one after the other when their stream refuses batches with error %i',
  async refusal => {
    const { server, client } = batchServer()
    const broker = nats({ url: 'nats://localhost', client })
    server.refusal = refusal
    const events = make.events(10, { channel: 'orders', key: 'a' })
    await broker.publish(events)
    await broker.publish(make.events(10, { channel: 'orders', key: 'a' }))
    expect(server.commits).toBe(1)
    expect(server.stored.slice(0, 10)).toEqual(events.map(({ id }) => id))
    expect(server.stored).toHaveLength(20)
    await broker.close()
  },
)
