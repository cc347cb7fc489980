import assert from 'node:assert/strict'
import type { Group, GroupQuery, Groups } from '../../../ports/groups.ts'
import { readPages } from '../harness.ts'
import { inDurableStoreWorld, inStoreWorld, type StoreConformance, type StoreWorld } from './suite.ts'

async function allPages(groups: Groups, query: GroupQuery): Promise<Group[]> {
  const pages = await readPages(cursor => groups.list({ ...query, cursor }))
  return pages.flatMap(page => page.groups)
}

const titles = async (groups: Groups, query: GroupQuery) =>
  (await groups.list(query)).groups.map(({ title }) => title)

/** Sends a letter, and answers with it and the id of its group. */
async function sendOne(world: StoreWorld) {
  const at = world.timing.now()
  const letter = world.failedAt(at, new TypeError('no id'))
  await world.send(letter)
  return { at, letter, id: letter.cycle.failure!.fingerprint.id }
}

/** What the port of groups promises. */
export function groupTests(suite: StoreConformance): void {
  const it = inStoreWorld(suite)
  const itDurable = inDurableStoreWorld(suite)

  it('F8: pages list every group once, last seen first, and filters select', async world => {
    const { groups } = world.store
    const now = world.timing.now()
    for (let index = 0; index < 7; index++) {
      const error = Object.assign(new Error(`cause ${index}`), { name: `Kind${index}` })
      await world.send(world.failedAt(now + (index % 3), error, index === 4 ? 'mails' : 'orders'))
    }
    const shown = await allPages(groups, { limit: 3 })
    assert.equal(new Set(shown.map(({ id }) => id)).size, 7)
    const inOrder = [...shown].sort((a, b) => b.lastSeenAt - a.lastSeenAt || (a.id < b.id ? -1 : 1))
    assert.deepEqual(shown, inOrder)
    assert.deepEqual(await titles(groups, { channel: 'mails' }), ['Kind4: cause 4'])
    assert.deepEqual(await titles(groups, { search: 'KIND5' }), ['Kind5: cause 5'])
    assert.deepEqual(await titles(groups, { state: 'muted' }), [])
    await groups.change(shown[0]!.id, { state: 'acknowledged', at: now, by: 'bo' })
    assert.equal((await groups.list({ state: 'open', limit: 7 })).groups.length, 6)
    await assert.rejects(groups.list({ cursor: 'nonsense' }), /query\.cursor/)
    await assert.rejects(groups.list({ limit: 0 }), /query\.limit/)
  })

  it('F8: a group counts its letters by state', async world => {
    const { deadLetters, groups } = world.store
    const now = world.timing.now()
    const error = new TypeError('no id')
    const [first, second, third] = [1, 2, 3].map(at => world.failedAt(now + at, error))
    await world.send(first!, second!, third!, world.failedAt(now, new RangeError('too far')))
    await deadLetters.change(first!.id, { to: 'replaying', at: now })
    await deadLetters.change(first!.id, { to: 'resolved', at: now })
    await deadLetters.change(second!.id, { to: 'discarded', at: now })
    const group = await groups.get(first!.cycle.failure!.fingerprint.id)
    const { count, waiting, replayed, recovered, firstSeenAt, lastSeenAt, channels } = group!
    assert.deepEqual([count, waiting, replayed, recovered], [3, 1, 1, 1])
    assert.deepEqual([firstSeenAt, lastSeenAt, channels], [now + 1, now + 3, ['orders']])
    assert.equal(await groups.get('no-such-group'), undefined)
  })

  it('F8: triage and notes are kept, even while the group has no letters', async world => {
    const { deadLetters, groups } = world.store
    const { at, letter, id } = await sendOne(world)
    const mutedUntil = at + 3_600_000
    const muted = { state: 'muted', mutedUntil, owner: 'ada', note: 'known \0', at, by: 'bo' } as const
    await groups.change(id, muted)
    await groups.change(id, { link: 'https://issues/1', note: 'still', at, by: 'bo' })
    const group = await groups.get(id)
    assert.equal(group?.state, 'muted')
    const { owner, link, mutedUntil: until, setBy } = group.triage
    assert.deepEqual([owner, link, until, setBy], ['ada', 'https://issues/1', mutedUntil, 'bo'])
    assert.deepEqual(group.notes, [
      { at, by: 'bo', text: 'known \0' },
      { at, by: 'bo', text: 'still' },
    ])
    await deadLetters.delete(letter.id)
    assert.equal(await groups.get(id), undefined)
    assert.equal(await groups.change(id, { owner: 'cy', at, by: 'bo' }), undefined)
    await world.send(letter)
    assert.equal((await groups.get(id))?.triage.owner, 'ada')
  })

  it('B4: a resolved group that fails again is open and has regressed', async world => {
    const { groups } = world.store
    const { at, id } = await sendOne(world)
    await groups.change(id, { owner: 'ada', at, by: 'bo' })
    const resolved = await groups.change(id, { state: 'resolved', owner: null, at, by: 'bo' })
    assert.deepEqual([resolved?.state, resolved?.regressed], ['resolved', false])
    await world.send(world.failedAt(at + 5, new TypeError('no id')))
    const group = await groups.get(id)
    assert.deepEqual([group?.state, group?.regressed, group?.triage.owner], ['open', true, undefined])
  })

  itDurable('B4: the triage of a group survives a restart', async world => {
    const { at, id } = await sendOne(world)
    const change = { state: 'acknowledged', owner: 'ada', note: 'mine', at, by: 'bo' } as const
    const before = await world.store.groups.change(id, change)
    const { groups } = await world.reopen()
    assert.deepEqual(await groups.get(id), before)
  })
}
