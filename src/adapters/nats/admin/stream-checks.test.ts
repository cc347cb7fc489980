import { expect, it } from 'vitest'
import type { ConsumerInfo, StreamInfo } from '../connection/jetstream.ts'
import { checkConsumer, checkStream, checkSync } from './stream-checks.ts'

const DAY_NS = 86_400_000 * 1_000_000
const GOOD = {
  name: 'ORDERS',
  retention: 'interest',
  storage: 'file',
  num_replicas: 3,
  max_age: 0,
  discard: 'new',
}

function stream(config: object, cluster?: StreamInfo['cluster']): StreamInfo {
  return {
    config: { ...GOOD, ...config },
    state: { messages: 0, first_ts: '', first_seq: 0, last_seq: 0 },
    created: '',
    ...(cluster === undefined ? undefined : { cluster }),
  }
}

it('F8: a stream on disk without limits has no findings', () => {
  expect(checkStream(stream({}, { name: 'shop' }), 'events', Number.POSITIVE_INFINITY)).toEqual([])
})

it.each([
  ['memory', stream({ storage: 'memory' }), 'events', 'fail', /in memory/],
  ['one replica in a cluster', stream({ num_replicas: 1 }, { name: 'shop' }), 'events', 'warn', /1 replica/],
  ['letters for a day', stream({ max_age: DAY_NS }), 'letters', 'warn', /for 1 day/],
  ['retries for 2 days', stream({ max_age: 2 * DAY_NS }), 'retries', 'warn', /for 2 days/],
  ['a limit that removes', stream({ max_msgs: 10, discard: 'old' }), 'events', 'warn', /oldest messages/],
] as const)('F8: %s is found', (_, info, kind, status, found) => {
  const findings = checkStream(info, kind, Number.POSITIVE_INFINITY)
  expect(findings).toEqual([{ status, found: expect.stringMatching(found), remedy: expect.any(String) }])
})

it('F8: one replica on a single server is not a finding', () => {
  expect(checkStream(stream({ num_replicas: 1 }), 'events', Number.POSITIVE_INFINITY)).toEqual([])
})

it('F8: a consumer on which the server gives up is found', () => {
  const consumer = (max: number) =>
    ({ name: 'bill', config: { max_deliver: max } }) as unknown as ConsumerInfo
  expect(checkConsumer('ORDERS', 'events', consumer(-1))).toEqual([])
  expect(checkConsumer('ORDERS', 'events', consumer(5))).toMatchObject([
    { status: 'fail', found: expect.stringContaining('5') },
  ])
})

it('F8: a consumer whose waiting retries hold up others is found', () => {
  const consumer = { name: 'bill', config: { max_ack_pending: 1_000 } } as unknown as ConsumerInfo
  expect(checkConsumer('LAZARET_RETRY_ORDERS', 'retries', consumer)).toMatchObject([
    { status: 'warn', remedy: expect.stringContaining('--max-pending -1') },
  ])
  expect(checkConsumer('ORDERS', 'events', consumer)).toEqual([])
})

it('F8: a server that confirms before it writes to disk is found, with what Jepsen lost', () => {
  expect(checkSync({ sync_always: true })).toMatchObject([{ status: 'ok' }])
  const found = expect.stringMatching(/every 120 s.*Jepsen/)
  expect(checkSync({ sync_interval: 120_000 * 1_000_000 })).toMatchObject([{ status: 'warn', found }])
  expect(checkSync(undefined)).toMatchObject([
    { status: 'warn', found: expect.stringContaining('cannot be seen') },
  ])
})
