import { expect, it } from 'vitest'
import { systemClock } from '../../../ports/clock.ts'
import type { PgPool } from '../connection/client.ts'
import { Owner } from './owner.ts'

/** A server that knows owners, and answers a beat when it is told to. */
function fakeServer() {
  const alive = new Set<number>()
  let owners = 0
  let answerBeat = () => {}
  const pool: PgPool = {
    connect: () => Promise.reject(new Error('not here')),
    async query(text, values = []) {
      if (text.startsWith('insert')) {
        alive.add(++owners)
        return { rows: [{ id: owners }], rowCount: 1 }
      }
      const rowCount = alive.has(values[0] as number) ? 1 : 0
      if (text.includes('set lease_until')) await new Promise<void>(resolve => (answerBeat = resolve))
      return { rows: [], rowCount }
    },
  }
  return { pool, alive, answerBeat: () => answerBeat() }
}

it('B8: that an owner is gone, told late, does not end the one that came after it', async () => {
  const { pool, alive, answerBeat } = fakeServer()
  const owner = new Owner(pool, 1_000, systemClock)
  expect(await owner.id()).toBe(1)
  alive.delete(1)
  const beat = owner.beat(pool)
  await Promise.resolve()
  expect(await owner.begin({ seq: 9, claim: 1, owner: 1 }), 'an attempt finds out first').toBe(false)
  expect(await owner.id()).toBe(2)
  expect(await owner.begin({ seq: 9, claim: 2, owner: 2 })).toBe(true)
  answerBeat()
  await beat
  expect(await owner.id()).toBe(2)
  expect(await owner.begin({ seq: 10, claim: 3, owner: 2 })).toBe(true)
})
