import { expect, it } from 'vitest'
import type { InstanceReport } from '../../ports/fleet.ts'
import { instancesOf } from './check-report.ts'

const REPORT: InstanceReport = {
  ...{ v: 1, id: 'a', service: 'orders', host: 'web', pid: 1, startedAt: 1 },
  consumers: [
    {
      ...{ channel: 'orders', handler: 'bill', broker: 'rabbitmq', breaker: 'closed', paused: [] },
      ...{ perMinute: 0, failureRate: 0, active: 0, waiting: 0 },
    },
  ],
  sinks: [{ name: 'crm', breaker: 'off', buffered: 0, inFlight: 0, retrying: 0, delivered: 0, gaveUp: 0 }],
}

it.each<[what: string, body: string]>([
  ['is not JSON', 'not json'],
  ['is not an object', 'null'],
  ['is of a later version', JSON.stringify({ ...REPORT, v: 2 })],
  ['has no service', JSON.stringify({ ...REPORT, service: undefined })],
  ['has no consumers', JSON.stringify({ ...REPORT, consumers: undefined })],
  ['has a consumer without pauses', JSON.stringify({ ...REPORT, consumers: [{ channel: 'orders' }] })],
  ['has a sink that is not an object', JSON.stringify({ ...REPORT, sinks: [null] })],
])('B17: a report that %s does not hide the other processes', (_, body) => {
  const rows = [body, JSON.stringify(REPORT)].map(each => ({
    ...{ body: each, seenAt: 10, leaseMs: 100, hasLeft: false },
  }))
  expect(instancesOf(rows, 20)).toEqual([{ report: REPORT, state: 'alive', seenAt: 10, silentMs: 10 }])
})
