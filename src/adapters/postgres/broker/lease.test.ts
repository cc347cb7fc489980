import { expect, it } from 'vitest'
import { systemClock } from '../../../ports/clock.ts'
import type { PgPool } from '../connection/client.ts'
import { ProcessLease } from './lease.ts'

/** A server that knows owners, and answers a renewal when it is told to. */
function fakeServer() {
  const alive = new Set<number>()
  let owners = 0
  let answerRenewal = () => {}
  const pool: PgPool = {
    connect: () => Promise.reject(new Error('not here')),
    async query(text, values = []) {
      if (text.startsWith('insert')) {
        alive.add(++owners)
        return { rows: [{ id: owners }], rowCount: 1 }
      }
      const rowCount = alive.has(values[0] as number) ? 1 : 0
      if (text.includes('set lease_until')) await new Promise<void>(resolve => (answerRenewal = resolve))
      return { rows: [], rowCount }
    },
  }
  return { pool, alive, answerRenewal: () => answerRenewal() }
}

it('B8: that an owner is gone, told late, does not end the one that came after it', async () => {
  const { pool, alive, answerRenewal } = fakeServer()
  const lease = new ProcessLease({ pool, leaseMs: 1_000, clock: systemClock })
  expect(await lease.owner()).toBe(1)
  alive.delete(1)
  const renewal = lease.renew(pool)
  await Promise.resolve()
  expect(await lease.beginAttempt({ seq: 9, claim: 1, owner: 1 }), 'an attempt finds out first').toBe(false)
  expect(await lease.owner()).toBe(2)
  expect(await lease.beginAttempt({ seq: 9, claim: 2, owner: 2 })).toBe(true)
  answerRenewal()
  await renewal
  expect(await lease.owner()).toBe(2)
  expect(await lease.beginAttempt({ seq: 10, claim: 3, owner: 2 })).toBe(true)
})
