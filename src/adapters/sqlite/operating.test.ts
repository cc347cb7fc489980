import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { KeptSqliteFile } from '../../../test/support/sqlite-file.ts'
import type { Replay, ReplayItem } from '../../ports/replays.ts'
import { createFactory } from '../../testing/factories.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { openSqlite } from './index.ts'

const clock = new FakeClock()
const file = new KeptSqliteFile(clock)
const store = openSqlite({ path: file.path, clock })
const { deadLetters, groups, replays, audit } = store
const make = createFactory({ clock })
afterAll(async () => {
  await store.close()
  await file.close()
})
beforeEach(async () => {
  await store.ready()
  file.clear()
})

function letterAt(at: number, error: Error, channel = 'orders') {
  const attempts = [make.attempt(1, { startedAt: at, endedAt: at })]
  return make.letter({ event: make.event({ channel }), at, error, attempts })
}

describe('sqlite groups', () => {
  it('F8: pages show every group once, last seen first, and filters select', async () => {
    const now = clock.now()
    for (let index = 0; index < 7; index++) {
      const error = Object.assign(new Error(`cause ${index}`), { name: `Kind${index}` })
      await deadLetters.send(letterAt(now + (index % 3), error, index === 4 ? 'mails' : 'orders'))
    }
    const shown = []
    for (let cursor: string | undefined; ; ) {
      const page = await groups.list({ limit: 2, cursor })
      shown.push(...page.groups)
      cursor = page.cursor
      if (cursor === undefined) break
    }
    const ids = shown.map(({ id }) => id)
    expect(new Set(ids).size).toBe(7)
    expect(shown).toEqual([...shown].sort((a, b) => b.lastSeenAt - a.lastSeenAt || (a.id < b.id ? -1 : 1)))
    expect((await groups.list({ channel: 'mails' })).groups.map(({ title }) => title)).toEqual([
      'Kind4: cause 4',
    ])
    expect((await groups.list({ search: 'KIND5' })).groups).toHaveLength(1)
    expect((await groups.list({ state: 'muted' })).groups).toEqual([])
    await expect(groups.list({ cursor: 'nonsense' })).rejects.toThrow('query.cursor')
    await expect(groups.list({ limit: 0 })).rejects.toThrow('query.limit')
  })

  it('F8: triage and notes are kept, even while the group has no letters', async () => {
    const letter = letterAt(clock.now(), new TypeError('no id'))
    await deadLetters.send(letter)
    const id = letter.cycle.failure!.fingerprint.id
    const mutedUntil = clock.now() + 1_000
    await groups.change(id, {
      state: 'muted',
      mutedUntil,
      owner: 'ada',
      note: 'known',
      at: clock.now(),
      by: 'bo',
    })
    await groups.change(id, { link: 'https://issues/1', note: 'still', at: clock.now(), by: 'bo' })
    expect(await groups.get(id)).toMatchObject({
      state: 'muted',
      triage: { owner: 'ada', link: 'https://issues/1', mutedUntil, setBy: 'bo' },
      notes: [{ text: 'known' }, { text: 'still' }],
    })
    await clock.advance(1_000)
    expect((await groups.list({ state: 'open' })).groups).toHaveLength(1)
    await deadLetters.delete(letter.id)
    expect(await groups.get(id)).toBeUndefined()
    expect(await groups.change(id, { owner: 'cy', at: clock.now(), by: 'bo' })).toBeUndefined()
    await deadLetters.send(letter)
    await groups.change(id, { state: 'resolved', owner: null, at: clock.now(), by: 'bo' })
    expect(await groups.get(id)).toMatchObject({ state: 'resolved', regressed: false })
    await deadLetters.send(letterAt(clock.now() + 5, new TypeError('no id')))
    const group = await groups.get(id)
    expect([group?.state, group?.regressed, group?.triage.owner]).toEqual(['open', true, undefined])
  })
})

const REPLAY: Replay = {
  v: 1,
  id: 'replay-1',
  state: 'planned',
  reason: 'the cause is mended',
  createdAt: clock.now(),
  createdBy: 'ada',
  selectedBy: { filter: { channel: 'orders' } },
  count: 1_200,
  hash: 'abc',
  findings: { replay: 1_200 },
  stages: [1, 'rest'],
  perSecond: 10,
  halt: { refailRatio: 0.5, onSameFingerprint: true },
  maxAgeMs: 1_000,
  allowQuarantined: false,
  needsApproval: false,
  stage: 0,
  revision: 0,
}

function itemsOf(count: number): ReplayItem[] {
  return Array.from({ length: count }, (_, position) => ({
    position,
    letterId: `letter-${position}`,
    decision: 'replay',
    status: 'waiting',
  }))
}

describe('sqlite replays', () => {
  it('K8: a replay and all its items are there, or nothing of it', async () => {
    await replays.create(REPLAY, itemsOf(1_200))
    expect(await replays.get('replay-1')).toEqual(REPLAY)
    expect(await replays.items('replay-1')).toEqual(itemsOf(1_200))
    await expect(replays.create(REPLAY, itemsOf(1))).rejects.toMatchObject({ code: 'LAZARET_REPLAY_REFUSED' })
    expect((await replays.counts('replay-1')).waiting).toBe(1_200)
    expect(await replays.get('no-such-replay')).toBeUndefined()
  })

  it('K8: items are found by status, behind a position, and recorded together', async () => {
    await replays.create(REPLAY, itemsOf(5))
    const [, second, , fourth] = itemsOf(5)
    const sent = [second!, fourth!].map(item => ({ ...item, status: 'sent', cycle: 1, sentAt: 7 }) as const)
    await replays.record('replay-1', sent)
    expect(await replays.items('replay-1', { status: 'sent' })).toEqual(sent)
    expect(await replays.items('replay-1', { status: 'sent', after: 1 })).toEqual([sent[1]])
    expect(await replays.items('replay-1', { limit: 1, after: 2 })).toEqual([sent[1]])
    expect(await replays.counts('replay-1')).toMatchObject({ waiting: 3, sent: 2, recovered: 0 })
  })

  it('K8: an update counts only when it was made from the latest revision', async () => {
    await replays.create(REPLAY, [])
    await replays.create({ ...REPLAY, id: 'replay-2', createdAt: REPLAY.createdAt + 1 }, [])
    expect(await replays.update({ ...REPLAY, state: 'approved' })).toMatchObject({
      state: 'approved',
      revision: 1,
    })
    expect(await replays.update({ ...REPLAY, state: 'cancelled' })).toBeUndefined()
    expect((await replays.list()).map(({ id }) => id)).toEqual(['replay-2', 'replay-1'])
    expect((await replays.list({ state: 'approved' })).map(({ id }) => id)).toEqual(['replay-1'])
  })

  it('K8: one runner at a time has it, until its lease runs out or it lets go', async () => {
    await replays.create(REPLAY, [])
    expect(await replays.lease('replay-1', 'a', 1_000)).toBe(true)
    expect(await replays.lease('replay-1', 'a', 1_000)).toBe(true)
    expect(await replays.lease('replay-1', 'b', 1_000)).toBe(false)
    await clock.advance(1_000)
    expect(await replays.lease('replay-1', 'b', 1_000)).toBe(true)
    await replays.letGo('replay-1', 'a')
    expect(await replays.lease('replay-1', 'a', 1_000)).toBe(false)
    await replays.letGo('replay-1', 'b')
    expect(await replays.lease('replay-1', 'a', 1_000)).toBe(true)
    expect(await replays.lease('no-such-replay', 'a', 1_000)).toBe(false)
  })
})

describe('sqlite audit log', () => {
  it('B13: what was done is listed newest first, by target and action, page by page', async () => {
    for (let index = 0; index < 5; index++) {
      const detail = index === 0 ? {} : { detail: { index, list: [null] } }
      const [action, target] = [index % 2 === 0 ? 'letter.discard' : 'group.mute', `letter-${index % 3}`]
      await audit.append({ at: clock.now(), by: 'ada', action, target, ...detail })
    }
    const first = await audit.list({ limit: 3 })
    const second = await audit.list({ limit: 3, cursor: first.cursor })
    expect([...first.entries, ...second.entries].map(({ detail }) => detail?.['index'])).toEqual([
      4,
      3,
      2,
      1,
      undefined,
    ])
    expect(second.cursor).toBeUndefined()
    expect((await audit.list({ target: 'letter-0', action: 'group.mute' })).entries).toHaveLength(1)
    expect((await audit.list({ action: 'letter.discard' })).entries).toHaveLength(3)
    await expect(audit.list({ cursor: 'x' })).rejects.toThrow('query.cursor')
  })
})
