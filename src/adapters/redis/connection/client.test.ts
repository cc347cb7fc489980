import { expect, it } from 'vitest'
import { type AnyRedisClient, sendBy } from './client.ts'

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
