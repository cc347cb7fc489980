import { expect, it } from 'vitest'
import { memoryBroker, memoryDeadLetters } from '../adapters/memory/index.ts'
import { decode } from '../adapters/nats/broker/wire/event-codec.ts'
import { maskLetter } from '../core/dead-letter/mask-letter.ts'
import type { LazaretEvent } from '../core/event/event.ts'
import { PermanentError } from '../core/failure/signals.ts'
import { createConsumer } from '../runtime/consumer/consumer.ts'
import { createRelay } from '../runtime/relay/relay.ts'
import { replayEvent } from '../runtime/replay-event.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { judge } from './judge.ts'

const TEXT = '{ "id": 9007199254740993, "password": "hunter2-and-more" }'
const CONTENT = new TextEncoder().encode(TEXT)

function foreignEvent(): LazaretEvent {
  const headers = [['content-type', 'application/json']] as const
  const message = { data: CONTENT, subject: 'orders.placed', headers }
  return decode(message as never, 'orders', { stream: 'ORDERS', offset: 1, timestamp: 5 }) as LazaretEvent
}

it('E9: a foreign message with a large number is replayed byte by byte, and its handler gets JSON', async () => {
  const broker = memoryBroker()
  const deadLetters = memoryDeadLetters()
  const handled: unknown[] = []
  const filtered: unknown[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const schema = {
    '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
  } as const
  const consumer = createConsumer({
    broker,
    channel: 'orders',
    deadLetters,
    schema,
    leaveOpen: true,
    filter: { saveIf: ({ payload }) => filtered.push(payload) > 0 },
    observer: { letterSaved: () => resolve() },
    async handle({ payload }) {
      handled.push(payload)
      throw new PermanentError('no')
    },
  })
  await consumer.start()
  await broker.publish([foreignEvent()])
  await promise
  await consumer.close()
  const rounded = { id: 9007199254740992, password: 'hunter2-and-more' }
  expect([handled, filtered]).toEqual([[rounded], [rounded]])

  const [letter] = (await deadLetters.list()).letters
  expect(letter!.event.payload).toEqual(CONTENT)
  expect(replayEvent(letter!, { id: 'r' } as never, 1).payload).toEqual(CONTENT)
  expect(maskLetter(letter!)).toMatchObject({
    event: { payload: { id: '9007199254740993', password: '***' } },
  })

  const clock = new FakeClock(letter!.createdAt)
  const asked = { maxAgeMs: 1_000, allowQuarantined: false }
  const environment = { clock, newId: () => 'x', schemaOf: () => schema }
  const decide = (patch?: never) => judge(letter!, { ...asked, patch }, environment, clock.now())
  expect(await decide()).toMatchObject({ decision: 'replay' })
  expect(await decide([{ op: 'remove', path: '/password' }] as never)).toMatchObject({
    decision: 'skip_schema',
    reason: expect.stringContaining('numbers that JavaScript would round'),
  })
  expect(await decide([{ op: 'replace', path: '', value: {} }] as never)).toMatchObject({
    decision: 'replay',
  })
})

it('E9: a relay to another broker sends the bytes on', async () => {
  const [from, to] = [memoryBroker(), memoryBroker({ name: 'other' })]
  const { promise, resolve } = Promise.withResolvers<LazaretEvent>()
  const publish = async (events: readonly LazaretEvent[]) => resolve(events[0]!)
  const relay = createRelay({ from, channel: 'orders', name: 'copy', to: { ...to, publish } as never })
  await relay.start()
  await from.publish([foreignEvent()])
  expect((await promise).payload).toEqual(CONTENT)
  await relay.close()
})
