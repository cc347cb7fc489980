import { afterAll, describe, it } from 'vitest'
import { findKafka } from '../services/kafka.ts'
import { billOrders } from './billing.ts'

const found = await findKafka()
const server = found.found ? await found.start() : undefined
const why = found.found ? '' : ` (skipped: ${found.why})`
afterAll(() => server?.close())

describe.runIf(found.found)(`examples/kafka${why}`, () => {
  it('E21, B18: every order is billed or a letter, although billing is killed, and a replay bills the letters', () =>
    billOrders('kafka', { KAFKA_BROKERS: server!.brokers.join(',') }, { consumers: 1 }))
})
