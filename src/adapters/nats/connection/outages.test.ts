import { expect, it } from 'vitest'
import { StallReporter } from '../../../adapter-kit/delivery/stalls.ts'
import type { SubscriptionStatus } from '../../../ports/broker.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { reportOutages } from './outages.ts'

/** A connection that a test loses and restores, and what a subscriber was told of it. */
function outageWorld() {
  const clock = new FakeClock()
  const statuses: SubscriptionStatus[] = []
  const link = {
    up: () => {},
    down: (_: Error) => {},
    clock,
    onUp: (listener: (connection: never) => void) => {
      link.up = () => listener(undefined as never)
      return () => {}
    },
    onDown: (listener: (error: Error) => void) => {
      link.down = listener
      return () => {}
    },
  }
  const stop = reportOutages(link, new StallReporter(status => statuses.push(status)))
  return { clock, link, statuses, stop }
}

it('E21: a server that is away is a stall until it is back', async () => {
  const { clock, link, statuses } = outageWorld()
  const error = new Error('connect ECONNREFUSED')
  link.down(error)
  await clock.advance(1_000)
  expect(statuses).toEqual([{ state: 'stalled', place: 'deliveries', error }])
  link.up()
  expect(statuses.at(-1)).toEqual({ state: 'recovered', place: 'deliveries' })
})

it('E21: a connection that is back at once is not reported, and neither is one that a closed subscription has lost', async () => {
  const { clock, link, statuses, stop } = outageWorld()
  link.down(new Error('read ECONNRESET'))
  await clock.advance(999)
  link.up()
  link.down(new Error('read ECONNRESET'))
  stop()
  await clock.advance(5_000)
  expect(statuses).toEqual([])
})
