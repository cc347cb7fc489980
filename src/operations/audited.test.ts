import { describe, expect, it } from 'vitest'
import { changed } from '../../test/support/conformance.ts'
import { memoryStore } from '../adapters/memory/store.ts'
import type { AuditEntry } from '../ports/audit.ts'
import type { Store } from '../ports/store.ts'
import { startReplay } from '../replay/control.ts'
import { planReplay } from '../replay/plan.ts'
import { createFactory } from '../testing/factories.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { freezeBulk, runBulk } from './bulk.ts'
import { PURGE } from './bulk-actions.ts'
import { discardLetter, reopenLetter } from './decide.ts'
import { applyRetention } from './retention.ts'
import { triageGroup } from './triage.ts'

const NOBODY_WRITES = new Error('the audit log cannot be written')

function world() {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  const make = createFactory({ clock })
  const audit = {
    append: async () => {
      throw NOBODY_WRITES
    },
    list: () => store.audit.list(),
  }
  const unaudited: Store = { ...store, audit }
  const audited = async () => (await store.audit.list()).entries.toReversed()
  return { clock, store, make, unaudited, audited }
}

const by = { by: 'ann', at: 5_000 }

describe('what a person does', () => {
  it('B13: is not done when it cannot be written to the audit first', async () => {
    const { store, unaudited, make, clock } = world()
    const letter = make.letter()
    await store.deadLetters.send(letter)
    const [{ id: group } = { id: '' }] = (await store.groups.list()).groups
    const purge = await freezeBulk(store, { filter: {}, isExpiredOnly: false, at: clock.now() })
    const deeds: readonly (() => Promise<unknown>)[] = [
      () => discardLetter(unaudited, letter.id, by),
      () => runBulk(unaudited, purge, PURGE, 'ann'),
      () => triageGroup(unaudited, group, { ...by, state: 'muted' }),
    ]
    for (const deed of deeds) await expect(deed()).rejects.toBe(NOBODY_WRITES)
    expect(await store.deadLetters.get(letter.id)).toEqual(letter)
    expect((await store.groups.get(group))?.state).toBe('open')
    const discarded = await store.deadLetters.change(letter.id, { to: 'discarded', at: clock.now() })
    await expect(reopenLetter(unaudited, discarded!, by)).rejects.toBe(NOBODY_WRITES)
    expect((await store.deadLetters.get(letter.id))?.state).toBe('discarded')
    await clock.advance(2)
    const retention = { retentionMs: 1, expireUndecidedAfterMs: 'never' } as const
    await expect(applyRetention(unaudited, retention, clock.now())).rejects.toBe(NOBODY_WRITES)
    expect((await store.deadLetters.stats()).count).toBe(1)
  })

  it('F6: reopening a letter that another replay has sent since changes nothing', async () => {
    const { store, make, clock } = world()
    const letter = make.letter()
    await store.deadLetters.send(letter)
    const claim = (replayId: string) =>
      store.deadLetters.change(letter.id, { to: 'replaying', at: clock.now(), replayId })
    const seen = await claim('first')
    await store.deadLetters.change(letter.id, { to: 'dead', at: clock.now() })
    const second = await claim('second')
    expect(await reopenLetter(store, seen!, by)).toBeUndefined()
    expect(await store.deadLetters.get(letter.id)).toEqual(second)
    expect((await reopenLetter(store, second!, by))?.state).toBe('dead')
  })

  it('B13: is told as failed when the change fails after it was written', async () => {
    const { store, make, audited } = world()
    const letter = make.letter()
    await store.deadLetters.send(letter)
    const change = () => Promise.reject(new Error('the disk is full'))
    const failing: Store = {
      ...store,
      deadLetters: changed(store.deadLetters, () => ({ change })),
      groups: changed(store.groups, () => ({ change })),
    }
    const [{ id: group } = { id: '' }] = (await store.groups.list()).groups
    await expect(discardLetter(failing, letter.id, { ...by, note: 'test' })).rejects.toThrow('disk is full')
    await expect(triageGroup(failing, group, { ...by, state: 'muted' })).rejects.toThrow('disk is full')
    expect((await audited()).map(told)).toEqual([
      ['letter.discard', letter.id, 'test'],
      ['letter.discard.failed', letter.id, 'the disk is full'],
      ['group.mute', group, undefined],
      ['group.mute.failed', group, 'the disk is full'],
    ])
  })

  it('B13: one entry tells of what worked', async () => {
    const { store, make, audited } = world()
    const letter = make.letter()
    await store.deadLetters.send(letter)
    const discarded = await discardLetter(store, letter.id, by)
    await reopenLetter(store, discarded!, by)
    expect((await audited()).map(({ action }) => action)).toEqual(['letter.discard', 'letter.reopen'])
  })

  it('B13: nothing is written of a letter that is not there, or that cannot be discarded', async () => {
    const { store, make, audited, clock } = world()
    const letter = make.letter()
    await store.deadLetters.send(letter)
    await store.deadLetters.change(letter.id, { to: 'replaying', at: clock.now() })
    await expect(discardLetter(store, letter.id, by)).rejects.toThrow('cannot become discarded')
    expect(await discardLetter(store, 'gone', by)).toBeUndefined()
    expect(await triageGroup(store, 'gone', { ...by, state: 'muted' })).toBeUndefined()
    expect(await audited()).toEqual([])
  })
})

function told({ action, target, detail }: AuditEntry): readonly unknown[] {
  return [action, target, detail?.['problem'] ?? detail?.['note']]
}

describe('what is done to a replay', () => {
  const surroundings = (clock: FakeClock) => ({ clock, newId: (now: number) => `replay-${now}` })

  it('B13: is not done when it cannot be written to the audit first, and is told as failed when it fails', async () => {
    const { store, unaudited, make, clock, audited } = world()
    await store.deadLetters.send(make.letter())
    const request = { filter: {}, by: 'ann', reason: 'fixed' }
    await expect(planReplay(unaudited, request, surroundings(clock))).rejects.toBe(NOBODY_WRITES)
    expect(await store.replays.list()).toEqual([])
    const { id } = await planReplay(store, request, surroundings(clock))
    const command = { by: 'ann', clock }
    await expect(startReplay(unaudited, id, command)).rejects.toBe(NOBODY_WRITES)
    expect((await store.replays.get(id))?.state).toBe('approved')
    const update = () => Promise.reject(new Error('the disk is full'))
    const failing: Store = { ...store, replays: changed(store.replays, () => ({ update })) }
    await expect(startReplay(failing, id, command)).rejects.toThrow('disk is full')
    await startReplay(store, id, command)
    await expect(startReplay(store, id, command)).rejects.toThrow('is running')
    expect((await audited()).map(({ action }) => action)).toEqual([
      'replay.plan',
      'replay.start',
      'replay.start.failed',
      'replay.start',
    ])
  })
})
