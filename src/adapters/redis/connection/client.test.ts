import { expect, it } from 'vitest'
import { type AnyRedisClient, createOwnClient, sendBy } from './client.ts'

const SENT = ['GET', 'a']
const OPTIONS = { typeMapping: {} }

/** A client that returns the arguments of its sendCommand. */
function clientWith(more: object): AnyRedisClient {
  const client = { sendCommand: async (...args: unknown[]) => args, ...more }
  return client as unknown as AnyRedisClient
}

it('E11: each kind of client gets what it needs to find the server, and never reads from a replica', async () => {
  const sent = (more: object) => sendBy(clientWith(more), 'a', SENT, OPTIONS)
  expect(await sent({})).toEqual([SENT, OPTIONS])
  expect(await sent({ slots: [] })).toEqual(['a', false, SENT, OPTIONS])
  expect(await sent({ getMasterNode: () => {} })).toEqual([false, SENT, OPTIONS])
})

it('E11: a reconnect does not build the class of the client again, which takes 30 ms of CPU', async () => {
  const [first, second] = await Promise.all(
    ['letters', 'broker'].map(name => createOwnClient('redis://127.0.0.1:1', name, 1_000)),
  )
  expect(second).not.toBe(first)
  expect(Object.getPrototypeOf(second)).toBe(Object.getPrototypeOf(first))
})
