import { expect, it } from 'vitest'
import { fakeNats } from '../../../test/support/fake-nats.ts'
import { systemRandom } from '../../ports/clock.ts'
import { createFactory } from '../../testing/factories.ts'
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
