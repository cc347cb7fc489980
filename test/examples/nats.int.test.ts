import { afterAll, describe, it } from 'vitest'
import { findNats } from '../services/nats.ts'
import { billOrders } from './billing.ts'

const found = await findNats()
const server = found.found ? await found.start() : undefined
const why = found.found ? '' : ` (skipped: ${found.why})`
afterAll(() => server?.close())

describe.runIf(found.found)(`examples/nats${why}`, () => {
  it('E21, B18: every order is billed or a letter, although billing is killed, and a replay bills the letters', () =>
    billOrders('nats', { NATS_URL: server!.url }, { lag: 0 }))
})
