import { describe, expect, it } from 'vitest'
import { changed } from '../../test/support/conformance.ts'
import { memoryLedger } from '../adapters/memory/index.ts'
import type { Ledger } from '../ports/ledger.ts'
import { sleep } from '../runtime/sleep.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { LEASE_MS } from './held-lease.ts'
import { startSchedule } from './schedule.ts'

const MINUTE_MS = 60_000
const RUN_MS = 30_000

/** Processes with one ledger and the same schedule, and what each of them did. */
function processes() {
  const clock = new FakeClock()
  const ledger = memoryLedger({ clock })
  const told: string[] = []
  const errors: unknown[] = []
  const start = (name: string, own: Ledger = ledger, cron = '* * * * *') =>
    startSchedule(
      cron,
      { clock, onError: error => errors.push(error), turn: { ledger: own, what: 'cleanup' } },
      async signal => {
        told.push(`${name} starts`)
        await sleep(clock, RUN_MS, signal).then(
          () => told.push(`${name} ends`),
          () => told.push(`${name} stops`),
        )
      },
    )
  /** Like the ledger, until the process is killed: then nothing that it does reaches the ledger. */
  const mortal = () => {
    const life = { isOver: false }
    const guard = changed(ledger as Ledger, () => ({
      renew: (...args) => (life.isOver ? new Promise<never>(() => {}) : ledger.renew(...args)),
      complete: (...args) => (life.isOver ? new Promise<never>(() => {}) : ledger.complete(...args)),
    }))
    return { life, ledger: guard }
  }
  return { clock, told, errors, start, mortal }
}

describe('a schedule of several processes', () => {
  it('E13: one of them does each run, however long it takes', async () => {
    const { clock, told, errors, start } = processes()
    const schedules = [start('a'), start('b')]
    await clock.advance(3 * MINUTE_MS - 1)
    expect(told.map(line => line.slice(2))).toEqual(['starts', 'ends', 'starts', 'ends'])
    expect(errors).toEqual([])
    await Promise.all(schedules.map(each => each.close()))
    expect(clock.pending).toBe(0)
  })

  it('E13: when it dies during a run, another one does the run within 15 s', async () => {
    const { clock, told, start, mortal } = processes()
    const { life, ledger } = mortal()
    start('a', ledger)
    const next = start('b')
    await clock.advance(MINUTE_MS + 1_000)
    expect(told).toEqual(['a starts'])
    life.isOver = true
    await clock.advance(LEASE_MS - 2_000)
    // The lease still lasts, and a process that only hangs has stopped by now.
    expect(told).toEqual(['a starts', 'a stops'])
    await clock.advance(15_000 - LEASE_MS + 2_000)
    expect(told).toEqual(['a starts', 'a stops', 'b starts'])
    await clock.advance(RUN_MS)
    expect(told.slice(3)).toEqual(['b ends'])
    await next.close()
  })

  it('E13: when it is closed during a run, another one does the rest', async () => {
    const { clock, told, start } = processes()
    const [first, next] = [start('a', undefined, '0 * * * *'), start('b', undefined, '0 * * * *')]
    await clock.advance(60 * MINUTE_MS + 1_000)
    await first.close()
    await clock.advance(MINUTE_MS)
    expect(told).toEqual(['a starts', 'a stops', 'b starts', 'b ends'])
    await next.close()
  })
})
