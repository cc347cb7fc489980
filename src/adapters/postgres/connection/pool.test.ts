import { expect, it } from 'vitest'
import { createPool } from './pool.ts'

it('S1: a pool of its own notices a server whose host died and returned, within about 10 s', async () => {
  const pool = await createPool('postgres://127.0.0.1/shop')
  // node-postgres passes these on to the socket. `npm run chaos:network -- postgres` has hosts that die.
  expect(pool).toMatchObject({ options: { keepAlive: true, keepAliveInitialDelayMillis: 10_000 } })
  await pool.end()
})
