import { describe, expect, it } from 'vitest'
import { changed } from '../../../test/support/conformance.ts'
import { memoryLedger } from '../../adapters/memory/index.ts'
import type { Ledger } from '../../ports/ledger.ts'
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

  it('F8: one whose process is gone is followed when its lease is over', async () => {
    const { clock, server, onDuty, ledger } = servers()
    await ledger.claim('lazaret server', 'collector rabbitmq', 30_000)
    const next = server('b')
    await clock.advance(20_000)
    expect(onDuty()).toEqual([])
    await clock.advance(20_000)
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
      await clock.advance(20_000)
      expect(onDuty()).toEqual([])
      await clock.advance(25_000)
      expect(onDuty()).toEqual(['b'])
      line.isDown = false
      await second.stop()
      if (how === 'fails') {
        await clock.advance(10_000)
        expect(onDuty()).toEqual(['a'])
        await first.stop()
      }
      expect(mostAtOnce()).toBe(1)
    },
  )
})
