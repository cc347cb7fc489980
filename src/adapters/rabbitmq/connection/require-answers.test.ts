import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import { FakeClock } from '../../../testing/fake-clock.ts'
import type { AmqpChannel, AmqpConnection } from './amqp.ts'
import { requireAnswers } from './amqplib-internals.ts'

const LIMIT_MS = 10_000

/** A connection whose server answers when it is told to. */
function connectionOf(clock: FakeClock) {
  const ended: Error[] = []
  let answer = (_: AmqpChannel) => {}
  const connection = Object.assign(new EventEmitter(), {
    connection: { stream: { destroy: (error: Error) => ended.push(error) } },
    createChannel: () => new Promise(resolve => (answer = resolve)),
    createConfirmChannel: () => new Promise(resolve => (answer = resolve)),
  }) as unknown as AmqpConnection & EventEmitter
  requireAnswers(connection, clock, LIMIT_MS)
  return { connection, ended, answer: () => answer({} as AmqpChannel) }
}

it.each(['createChannel', 'createConfirmChannel'] as const)(
  'B7: a connection on which the server answers no %s is ended, so that the next one is tried',
  async open => {
    const clock = new FakeClock()
    const { connection, ended } = connectionOf(clock)
    void connection[open]()
    await clock.advance(LIMIT_MS - 1)
    expect(ended).toEqual([])
    await clock.advance(1)
    expect(String(ended[0])).toContain('did not open a channel within 10000 ms')
  },
)

it('B7: a connection that answers in time is kept', async () => {
  const clock = new FakeClock()
  const { connection, ended, answer } = connectionOf(clock)
  const opening = connection.createChannel()
  answer()
  await opening
  await clock.advance(10 * LIMIT_MS)
  expect(ended).toEqual([])
})

it('B7: a connection that the server has blocked is waited for until it is not', async () => {
  const clock = new FakeClock()
  const { connection, ended } = connectionOf(clock)
  connection.emit('blocked', 'low on memory')
  void connection.createConfirmChannel()
  await clock.advance(10 * LIMIT_MS)
  expect(ended).toEqual([])
  connection.emit('unblocked')
  await clock.advance(LIMIT_MS)
  expect(ended).toHaveLength(1)
})
