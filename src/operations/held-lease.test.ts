import { expect, it } from 'vitest'
import { memoryLedger } from '../adapters/memory/index.ts'
import { sleep } from '../runtime/sleep.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { claimLease, LEASE_MS, RENEW_MS } from './held-lease.ts'

it('F8: a lease counts from its claim, also when the clock is set back while the store answers', async () => {
  const clock = new FakeClock()
  const ledger = memoryLedger({ clock })
  const { claim } = ledger
  ledger.claim = async (...words) => {
    const claimed = await claim.apply(ledger, words)
    await sleep(clock, 5_000)
    return claimed
  }
  ledger.renew = () => new Promise(() => {})
  const claiming = claimLease(ledger, { handler: 'work', key: 'one' }, clock)
  await clock.advance(2_000)
  clock.jump(-3_600_000)
  await clock.advance(3_000)
  const answer = await claiming
  if (answer.kind !== 'claimed') throw new Error('it is not claimed')
  await clock.advance(LEASE_MS - RENEW_MS - 5_000)
  expect(answer.lease.lost.aborted).toBe(true)
})
