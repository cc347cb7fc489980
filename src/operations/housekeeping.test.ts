import { describe, expect, it } from 'vitest'
import { withTempFolder } from '../../test/support/folder.ts'
import { fileDeadLetters } from '../adapters/file/index.ts'
import { memoryStore } from '../adapters/memory/index.ts'
import type { TimeToLive } from '../core/dead-letter/time-to-live.ts'
import { OptionsError } from '../core/options/faults.ts'
import type { LetterCounts } from '../ports/dead-letters.ts'
import type { Store } from '../ports/store.ts'
import { createMetrics } from '../runtime/metrics/create-metrics.ts'
import { createFactory } from '../testing/factories.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { type HousekeepingOptions, startHousekeeping } from './housekeeping.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const MIDNIGHT = Date.UTC(2026, 0, 1)

function world() {
  const clock = new FakeClock(MIDNIGHT)
  const store = memoryStore({ clock })
  const make = createFactory({ clock })
  const runs: LetterCounts[] = []
  const errors: unknown[] = []
  return {
    clock,
    store,
    runs,
    errors,
    async letter(expiresAfterMs: TimeToLive | undefined, to?: 'discarded') {
      const letter = make.letter({ expiresAfterMs })
      await store.deadLetters.send(letter)
      if (to !== undefined) await store.deadLetters.change(letter.id, { to, at: clock.now() })
      return letter.id
    },
    start: (more: Partial<HousekeepingOptions> = {}) =>
      startHousekeeping({
        store,
        clock,
        onRun: run => void runs.push(run),
        onError: error => void errors.push(error),
        ...more,
      }),
    left: async () => (await store.deadLetters.stats()).byState,
    audited: async () => (await store.audit.list()).entries,
  }
}

describe('housekeeping inside the service', () => {
  it('E13, R2: runs at 02:00 UTC, deletes what was asked for, and nothing that is undecided otherwise', async () => {
    const { clock, runs, letter, start, left, audited } = world()
    const metrics = createMetrics()
    await letter(HOUR_MS)
    await letter(undefined, 'discarded')
    await letter('never')
    await letter(undefined)
    const housekeeping = start({ observer: metrics.observer })
    await clock.advance(2 * HOUR_MS - 1)
    expect([runs, await left()]).toEqual([[], { dead: 3, discarded: 1 }])
    await clock.advance(1)
    expect([runs, await left()]).toEqual([[{ dead: 1 }], { dead: 2, discarded: 1 }])
    await clock.advance(7 * DAY_MS)
    expect(await left()).toEqual({ dead: 2 })
    await clock.advance(365 * DAY_MS)
    expect(await left()).toEqual({ dead: 2 })
    // One entry for each run that deleted letters.
    expect((await audited()).map(({ by, action, detail }) => [by, action, detail])).toEqual([
      ['retention', 'letters.expire', { letters: 1, byState: { discarded: 1 } }],
      ['retention', 'letters.expire', { letters: 1, byState: { dead: 1 } }],
    ])
    const expired = (await metrics.read()).find(({ name }) => name.endsWith('dlq_expired_total'))
    expect(expired?.samples).toMatchObject([
      { labels: { state: 'dead' }, value: 1 },
      { labels: { state: 'discarded' }, value: 1 },
    ])
    await housekeeping.close()
    expect(clock.pending).toBe(0)
  })

  it("K9: a letter that says 'never' stays where undecided letters are deleted", async () => {
    const { clock, letter, start, left, store } = world()
    const kept = await letter('never')
    await letter(undefined)
    const housekeeping = start({ expireUndecidedAfterMs: 1 })
    await clock.advance(2 * DAY_MS)
    expect(await left()).toEqual({ dead: 1 })
    expect((await store.deadLetters.get(kept))?.expiresAfterMs).toBe('never')
    await housekeeping.close()
  })

  it('E13: of two processes one does the run, and without a ledger both at once do no harm', async () => {
    for (const hasLedger of [true, false]) {
      const { clock, store, runs, errors, letter, start, left, audited } = world()
      for (let n = 0; n < 5; n++) await letter(1)
      await letter('never')
      const shared: Store = hasLedger ? store : { ...store, ledger: undefined }
      const both = [start({ store: shared }), start({ store: shared })]
      await clock.advance(3 * HOUR_MS)
      expect(await left()).toEqual({ dead: 1 })
      expect(errors).toEqual([])
      const deleted = runs.reduce((sum, { dead = 0 }) => sum + dead, 0)
      expect([hasLedger, deleted]).toEqual([hasLedger, 5])
      if (hasLedger) expect(await audited()).toHaveLength(1)
      await Promise.all(both.map(each => each.close()))
    }
  })

  it('E13, R2: cleans a file store of dead letters alone, from two processes, and counts each letter once', async () => {
    await withTempFolder(async dir => {
      const clock = new FakeClock(MIDNIGHT)
      const make = createFactory({ clock })
      const stores = [fileDeadLetters({ dir, clock }), fileDeadLetters({ dir, clock })]
      for (let n = 0; n < 5; n++) await stores[0]!.send(make.letter({ expiresAfterMs: 1 }))
      await stores[0]!.send(make.letter({ expiresAfterMs: 'never' }))
      const runs: LetterCounts[] = []
      const onRun = (run: LetterCounts) => void runs.push(run)
      const both = stores.map(store => startHousekeeping({ store, clock, onRun }))
      await clock.advance(2 * HOUR_MS)
      // One of them waits for the lock of the folder, on this clock.
      while (runs.length < 2) await clock.advance(10)
      expect(runs.reduce((sum, { dead = 0 }) => sum + dead, 0)).toBe(5)
      expect((await stores[1]!.stats()).byState).toEqual({ dead: 1 })
      await Promise.all(both.map(each => each.close()))
      await Promise.all(stores.map(store => store.close()))
    })
  })

  it('E13: a run that fails is reported, and the next one follows', async () => {
    const { clock, store, errors, runs, letter, start } = world()
    await letter(1)
    const broken = new Error('the disk is full')
    let failures = 0
    const audit = {
      ...store.audit,
      append: (entry: Parameters<typeof store.audit.append>[0]) =>
        failures++ === 0 ? Promise.reject(broken) : store.audit.append(entry),
    }
    const housekeeping = start({ store: { ...store, audit } })
    await clock.advance(DAY_MS)
    expect([errors, runs]).toEqual([[broken], []])
    await clock.advance(DAY_MS)
    expect(runs).toEqual([{ dead: 1 }])
    await housekeeping.close()
  })

  it('F7: refuses options with faults, all of them at once', () => {
    const wrong = { store: {}, cron: 'at two', retentionMs: 0 } as never
    expect(() => startHousekeeping(wrong)).toThrow(OptionsError)
    expect(() => startHousekeeping(wrong)).toThrow(/store.*cron.*retentionMs/s)
  })
})
