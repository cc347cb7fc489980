import { describe, expect, it } from 'vitest'
import { memoryStore } from '../adapters/memory/store.ts'
import { createFactory } from '../testing/factories.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { countSelection, freezeBulk, runBulk } from './bulk.ts'
import { DISCARD, exportAs, PURGE } from './bulk-actions.ts'

function world() {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  const make = createFactory({ clock })
  const send = async (count: number, at = clock.now()) => {
    const letters = Array.from({ length: count }, () =>
      make.letter({ at, attempts: [make.attempt(1, { startedAt: at, endedAt: at })] }),
    )
    for (const letter of letters) await store.deadLetters.send(letter)
    return letters
  }
  const audited = async () => (await store.audit.list()).entries.toReversed()
  const left = async () => (await store.deadLetters.list({ limit: 1_000 })).letters.map(({ id }) => id)
  return { clock, store, make, send, audited, left }
}

describe('purging letters', () => {
  it('F8: deletes what was counted, and no letter that was stored later, however old its failure', async () => {
    const { clock, store, send, left, audited } = world()
    await send(250)
    const purge = await freezeBulk(store, { filter: {}, isExpiredOnly: false, at: clock.now() })
    expect([...countSelection(purge)]).toEqual([['dead', 250]])
    const collected = await send(3, clock.now() - 3_600_000)
    await clock.advance(1)
    const late = await send(2)
    expect(await runBulk(store, purge, PURGE, 'ann')).toBe(250)
    expect((await left()).sort()).toEqual([...collected, ...late].map(({ id }) => id).sort())
    expect(await audited()).toMatchObject([
      { action: 'letters.purge', by: 'ann', detail: { letters: 250, byState: { dead: 250 } } },
    ])
  })

  it('F8: a letter that is stored while the others are deleted stays', async () => {
    const { clock, store, send, left } = world()
    await send(250)
    const purge = await freezeBulk(store, { filter: {}, isExpiredOnly: false, at: clock.now() })
    const sent: string[] = []
    const onProgress = async () => {
      sent.push(...(await send(1, clock.now() - 60_000)).map(({ id }) => id))
    }
    expect(await runBulk(store, purge, PURGE, 'ann', { onProgress })).toBe(250)
    expect((await left()).sort()).toEqual(sent.sort())
  })

  it('F8: a letter that has failed again or changed its state since the count stays, and the audit log says so', async () => {
    const { clock, store, send, left, audited, make } = world()
    const [parked, again, ...gone] = await send(5)
    const purge = await freezeBulk(store, { filter: {}, isExpiredOnly: false, at: clock.now() })
    await store.deadLetters.change(parked!.id, { to: 'parked', at: clock.now() })
    await clock.advance(10)
    await store.deadLetters.send(make.letter({ event: again!.event, replay: 1 }))
    expect(await runBulk(store, purge, PURGE, 'ann')).toBe(gone.length)
    expect((await left()).sort()).toEqual([parked!.id, again!.id].sort())
    expect(await audited()).toMatchObject([
      { action: 'letters.purge', detail: { letters: 5 } },
      { action: 'letters.purge.partial', detail: { letters: 5, deleted: 3 } },
    ])
  })

  it('F8: is in the audit before the first letter goes, and says how far it came when it fails', async () => {
    const { clock, store, send, left, audited } = world()
    await send(150)
    const purge = await freezeBulk(store, { filter: {}, isExpiredOnly: false, at: clock.now() })
    let shown: unknown
    const onProgress = async () => {
      shown ??= await audited()
      throw new Error('the terminal is gone')
    }
    await expect(runBulk(store, purge, PURGE, 'ann', { onProgress })).rejects.toThrow('the terminal is gone')
    expect(shown).toMatchObject([{ action: 'letters.purge', detail: { letters: 150 } }])
    expect(await left()).toHaveLength(50)
    expect(await audited()).toMatchObject([
      { action: 'letters.purge' },
      { action: 'letters.purge.failed', detail: { deleted: 100, problem: 'the terminal is gone' } },
    ])
  })
})

describe('a batch that fails in part', () => {
  it('F8: counts the letters that were changed before and beside the failure', async () => {
    const { clock, store, send, audited } = world()
    const letters = await send(60)
    const selection = await freezeBulk(store, { filter: {}, at: clock.now() })
    const [, , third] = [...selection.frozen.letters.keys()]
    const change = store.deadLetters.change.bind(store.deadLetters)
    store.deadLetters.change = (id, to) =>
      id === third ? Promise.reject(new Error('connection lost')) : change(id, to)
    await expect(runBulk(store, selection, DISCARD, 'ann')).rejects.toThrow('connection lost')
    const { count } = await store.deadLetters.stats({ state: 'discarded' })
    expect(count).toBeGreaterThan(0)
    expect(count).toBeLessThan(letters.length)
    expect(await audited()).toMatchObject([
      { action: 'letters.discard', detail: { letters: 60 } },
      { action: 'letters.discard.failed', detail: { changed: count, problem: 'connection lost' } },
    ])
  })

  it('F8: counts no exported letter whose line was not written', async () => {
    const { clock, store, send, audited } = world()
    await send(5)
    const selection = await freezeBulk(store, { filter: {}, at: clock.now() })
    const [first] = selection.frozen.letters.keys()
    const get = store.deadLetters.get.bind(store.deadLetters)
    store.deadLetters.get = id => (id === first ? Promise.reject(new Error('connection lost')) : get(id))
    const written: string[] = []
    const action = exportAs(
      'jsonl',
      ({ id }) => id,
      text => void written.push(text),
    )
    await expect(runBulk(store, selection, action, 'ann')).rejects.toThrow('connection lost')
    expect(written).toEqual([])
    expect((await audited())[1]).toMatchObject({ action: 'letters.export.failed', detail: { exported: 0 } })
  })
})
