import { describe, expect, it } from 'vitest'
import { changed } from '../../../test/support/conformance.ts'
import { memoryLedger } from '../../adapters/memory/index.ts'
import { LEASE_MS, RENEW_MS } from '../../operations/held-lease.ts'
import type { Ledger } from '../../ports/ledger.ts'
import { sleep } from '../../runtime/sleep.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { LeaderElection } from './leader-election.ts'

/** Servers that share a ledger, and who of them is on duty. */
function servers() {
  const clock = new FakeClock()
  const ledger = memoryLedger({ clock })
  const onDuty = new Set<string>()
  let most = 0
  const server = (name: string, own: Ledger = ledger) => {
    const duty = {
      name: 'collector rabbitmq',
      start: () => {
        onDuty.add(name)
        most = Math.max(most, onDuty.size)
      },
      stop: async () => void onDuty.delete(name),
    }
    const standby = new LeaderElection(duty, own, clock)
    standby.start()
    return standby
  }
  return { clock, ledger, server, onDuty: () => [...onDuty], mostAtOnce: () => most }
}

describe('of several servers', () => {
  it('F8: one is on duty, and the next goes on when it ends', async () => {
    const { clock, server, onDuty, mostAtOnce } = servers()
    const [first, second] = [server('a'), server('b')]
    await clock.advance(120_000)
    expect(onDuty()).toEqual(['a'])
    await first.stop()
    await clock.advance(10_000)
    expect(onDuty()).toEqual(['b'])
    await second.stop()
    expect([onDuty(), mostAtOnce(), clock.pending]).toEqual([[], 1, 0])
  })

  it('F8: one whose process is gone is followed when its lease is over, within 15 s', async () => {
    const { clock, server, onDuty, ledger } = servers()
    await ledger.claim('lazaret server', 'collector rabbitmq', LEASE_MS)
    const next = server('b')
    await clock.advance(LEASE_MS - 1)
    expect(onDuty()).toEqual([])
    await clock.advance(15_000 - LEASE_MS)
    expect(onDuty()).toEqual(['b'])
    await next.stop()
  })

  it.each(['fails', 'never answers'])(
    'F8: one whose store %s stops before another can start, and comes back later',
    async how => {
      const { clock, server, onDuty, mostAtOnce, ledger } = servers()
      const line = { isDown: false }
      const noAnswer = () =>
        how === 'fails' ? Promise.reject(new Error('away')) : new Promise<never>(() => {})
      const away = changed(ledger as Ledger, () => ({
        claim: (...args) => (line.isDown ? noAnswer() : ledger.claim(...args)),
        renew: (...args) => (line.isDown ? noAnswer() : ledger.renew(...args)),
      }))
      const [first, second] = [server('a', away), server('b')]
      await clock.advance(15_000)
      line.isDown = true
      await clock.advance(LEASE_MS - RENEW_MS)
      expect(onDuty()).toEqual([])
      await clock.advance(2 * RENEW_MS)
      expect(onDuty()).toEqual(['b'])
      line.isDown = false
      await second.stop()
      if (how === 'fails') {
        await clock.advance(RENEW_MS)
        expect(onDuty()).toEqual(['a'])
        await first.stop()
      }
      expect(mostAtOnce()).toBe(1)
    },
  )

  it('F8: one whose store answers late counts its lease from its question, not from the answer', async () => {
    const { clock, server, onDuty, mostAtOnce, ledger } = servers()
    const line = { isSlow: false, isDown: false }
    const slow = changed(ledger as Ledger, () => ({
      claim: (...args) => (line.isDown ? Promise.reject(new Error('away')) : ledger.claim(...args)),
      async renew(...args) {
        if (line.isDown) throw new Error('away')
        const answer = ledger.renew(...args)
        if (line.isSlow) await sleep(clock, 3_900)
        return answer
      },
    }))
    const first = server('a', slow)
    // The other asks half a second after the lease of the last renewal has ended.
    await clock.advance(1_500)
    const second = server('b')
    await clock.advance(1_500)
    line.isSlow = true
    await clock.advance(RENEW_MS)
    line.isDown = true
    await clock.advance(LEASE_MS - RENEW_MS)
    expect(onDuty()).toEqual([])
    await clock.advance(2 * RENEW_MS)
    expect([onDuty(), mostAtOnce()]).toEqual([['b'], 1])
    await Promise.all([first.stop(), second.stop()])
  })
})
