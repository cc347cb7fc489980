import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findRedis } from '../../../test/services/redis.ts'
import type { Replay, ReplayItem } from '../../ports/replays.ts'
import { Patience, uniqueName } from '../../testing/conformance/harness.ts'
import { createFactory } from '../../testing/factories.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { openRedis, type RedisStore, redisLedger } from './index.ts'

const found = await findRedis()
const server = found.found ? await found.start({ appendfsync: 'no' }) : undefined
const patience = new Patience({})
const clock = new FakeClock()
const make = createFactory({ clock })
let store: RedisStore
beforeEach(() => {
  if (server) store = openRedis({ url: server.url, clock, prefix: uniqueName('operating') })
})
afterEach(() => store?.close())
afterAll(() => server?.close())
const why = found.found ? '' : ` (skipped: ${found.why})`

function letterAt(at: number, error: Error, channel = 'orders') {
  const attempts = [make.attempt(1, { startedAt: at, endedAt: at })]
  return make.letter({ event: make.event({ channel }), at, error, attempts })
}

describe.runIf(found.found)(`Redis groups${why}`, () => {
  it('F8: pages show every group once, last seen first, and filters select', async () => {
    const now = clock.now()
    for (let index = 0; index < 7; index++) {
      const error = Object.assign(new Error(`cause ${index}`), { name: `Kind${index}` })
      await store.deadLetters.send(letterAt(now + (index % 3), error, index === 4 ? 'mails' : 'orders'))
    }
    const shown = []
    for (let cursor: string | undefined; ; ) {
      const page = await store.groups.list({ limit: 2, cursor })
      shown.push(...page.groups)
      cursor = page.cursor
      if (cursor === undefined) break
    }
    expect(new Set(shown.map(({ id }) => id)).size).toBe(7)
    const times = shown.map(({ lastSeenAt }) => lastSeenAt)
    expect(times).toEqual([...times].sort((a, b) => b - a))
    expect((await store.groups.list({ channel: 'mails' })).groups.map(({ channels }) => channels)).toEqual([
      ['mails'],
    ])
    expect((await store.groups.list({ search: 'KIND3' })).groups.map(({ title }) => title)).toEqual([
      'Kind3: cause 3',
    ])
    await store.groups.change(shown[0]!.id, { state: 'acknowledged', at: now, by: 'bo' })
    expect((await store.groups.list({ state: 'open', limit: 5 })).groups).toHaveLength(5)
    await expect(store.groups.list({ cursor: 'x' })).rejects.toThrow('query.cursor')
  })

  it('F8: letters are counted by what became of them, and what people say stays', async () => {
    const now = clock.now()
    const error = new TypeError('no id')
    const [first, second, third] = [1, 2, 3].map(at => letterAt(now + at, error))
    for (const letter of [first, second, third]) await store.deadLetters.send(letter!)
    await store.deadLetters.change(first!.id, { to: 'replaying', at: now })
    await store.deadLetters.change(first!.id, { to: 'resolved', at: now })
    await store.deadLetters.change(second!.id, { to: 'discarded', at: now })
    const { id } = (await store.groups.list()).groups[0]!
    expect(await store.groups.get(id)).toMatchObject({
      count: 3,
      waiting: 1,
      replayed: 1,
      recovered: 1,
      firstSeenAt: now + 1,
      lastSeenAt: now + 3,
    })
    await store.groups.change(id, {
      state: 'muted',
      mutedUntil: now + 1_000,
      owner: 'ada',
      note: 'known \0',
      at: now,
      by: 'bo',
    })
    expect(await store.groups.get(id)).toMatchObject({
      state: 'muted',
      triage: { owner: 'ada', mutedUntil: now + 1_000, setBy: 'bo' },
      notes: [{ text: 'known \0', by: 'bo' }],
    })
    for (const letter of [first, second, third]) await store.deadLetters.delete(letter!.id)
    expect(await store.groups.get(id)).toBeUndefined()
    expect(await store.groups.change(id, { owner: 'cy', at: now, by: 'bo' })).toBeUndefined()
    await store.deadLetters.send(third!)
    await store.groups.change(id, { state: 'resolved', owner: null, at: now + 3, by: 'bo' })
    expect(await store.groups.get(id)).toMatchObject({ state: 'resolved', regressed: false })
    await store.deadLetters.send(letterAt(now + 5, error))
    const group = await store.groups.get(id)
    expect([group?.state, group?.regressed, group?.triage.owner]).toEqual(['open', true, undefined])
  })

  it('P2: what is no proper text is kept in letters and found all the same', async () => {
    const event = make.event({ payload: { text: 'a\0b\ud800' } })
    const letter = make.letter({ event, error: new Error('broken \0 text') })
    await store.deadLetters.send(letter)
    expect(await store.deadLetters.get(letter.id)).toEqual(letter)
    expect((await store.deadLetters.list({ search: 'BROKEN' })).letters).toEqual([letter])
    expect((await store.deadLetters.list({ channel: 'or\0ders' })).letters).toEqual([])
    expect((await store.deadLetters.list({ after: -1e300, before: 1e300 })).letters).toEqual([letter])
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

describe.runIf(found.found)(`Redis replays${why}`, () => {
  it('K8: a replay and all its items are there, or nothing of it', async () => {
    await store.replays.create(REPLAY, itemsOf(1_200))
    expect(await store.replays.get('replay-1')).toEqual(REPLAY)
    expect(await store.replays.items('replay-1')).toEqual(itemsOf(1_200))
    await expect(store.replays.create(REPLAY, itemsOf(1))).rejects.toMatchObject({
      code: 'LAZARET_REPLAY_REFUSED',
    })
    const broken = [...itemsOf(1), ...itemsOf(1)]
    await expect(store.replays.create({ ...REPLAY, id: 'replay-2' }, broken)).rejects.toThrow()
    expect(await store.replays.get('replay-2')).toBeUndefined()
    expect((await store.replays.counts('replay-1')).waiting).toBe(1_200)
  })

  it('K8: items are found by status, behind a position, and recorded together', async () => {
    await store.replays.create(REPLAY, itemsOf(5))
    const [, second, , fourth] = itemsOf(5)
    const sent = [second!, fourth!].map(item => ({ ...item, status: 'sent', cycle: 1, sentAt: 7 }) as const)
    await store.replays.record('replay-1', sent)
    expect(await store.replays.items('replay-1', { status: 'sent' })).toEqual(sent)
    expect(await store.replays.items('replay-1', { status: 'sent', after: 1 })).toEqual([sent[1]])
    expect(await store.replays.items('replay-1', { limit: 1, after: 2 })).toEqual([sent[1]])
    expect(await store.replays.counts('replay-1')).toMatchObject({ waiting: 3, sent: 2, recovered: 0 })
  })

  it('K8: an update counts only when it was made from the latest revision', async () => {
    await store.replays.create(REPLAY, [])
    await store.replays.create({ ...REPLAY, id: 'replay-2', createdAt: REPLAY.createdAt + 1 }, [])
    const approved = await store.replays.update({ ...REPLAY, state: 'approved' })
    expect(approved).toMatchObject({ state: 'approved', revision: 1 })
    expect(await store.replays.update({ ...REPLAY, state: 'cancelled' })).toBeUndefined()
    expect((await store.replays.list()).map(({ id }) => id)).toEqual(['replay-2', 'replay-1'])
    expect((await store.replays.list({ state: 'approved' })).map(({ id }) => id)).toEqual(['replay-1'])
  })

  it('K8: one runner at a time has it, until its lease runs out or it lets go', async () => {
    await store.replays.create(REPLAY, [])
    expect(await store.replays.lease('replay-1', 'a', 60_000)).toBe(true)
    expect(await store.replays.lease('replay-1', 'b', 60_000)).toBe(false)
    expect(await store.replays.lease('replay-1', 'a', 0)).toBe(true)
    expect(await store.replays.lease('replay-1', 'b', 60_000)).toBe(true)
    await store.replays.letGo('replay-1', 'a')
    expect(await store.replays.lease('replay-1', 'a', 60_000)).toBe(false)
    await store.replays.letGo('replay-1', 'b')
    expect(await store.replays.lease('replay-1', 'a', 60_000)).toBe(true)
    expect(await store.replays.lease('no-such-replay', 'a', 60_000)).toBe(false)
  })
})

describe.runIf(found.found)(`Redis audit log${why}`, () => {
  it('B13: what was done is listed newest first, by target and action, page by page', async () => {
    for (let index = 0; index < 5; index++) {
      const detail = index === 0 ? {} : { detail: { index, list: [null] } }
      const [action, target] = [index % 2 === 0 ? 'letter.discard' : 'group.mute', `letter-${index % 3}`]
      await store.audit.append({ at: clock.now(), by: 'ada', action, target, ...detail })
    }
    const first = await store.audit.list({ limit: 3 })
    const second = await store.audit.list({ limit: 3, cursor: first.cursor })
    const shown = [...first.entries, ...second.entries].map(({ detail }) => detail?.['index'])
    expect(shown).toEqual([4, 3, 2, 1, undefined])
    expect(first.entries[0]).toMatchObject({ at: clock.now(), by: 'ada' })
    expect(second.cursor).toBeUndefined()
    expect((await store.audit.list({ target: 'letter-0', action: 'group.mute' })).entries).toHaveLength(1)
    expect((await store.audit.list({ action: 'letter.discard' })).entries).toHaveLength(3)
    await expect(store.audit.list({ cursor: 'x' })).rejects.toThrow('query.cursor')
  })
})

describe.runIf(found.found)(`a Redis ledger${why}`, () => {
  it('S8: what was done longer ago than it is to be kept is forgotten by the server itself', async () => {
    const prefix = uniqueName('short')
    const ledger = redisLedger({ url: server!.url, prefix, ledgerRetentionMs: 20 })
    const claim = await ledger.claim('bill', 'charge-1', 10_000)
    expect(claim.kind === 'claimed' && (await ledger.complete('bill', 'charge-1', claim.token))).toBe(true)
    const isForgotten = async () => (await ledger.claim('bill', 'charge-1', 1)).kind === 'claimed'
    await patience.eventually(isForgotten, 'it is forgotten')
    const isEmpty = async () => String(await server!.node!.command('KEYS', `{${prefix}:*`)) === ''
    await patience.eventually(isEmpty, 'no key is left')
    await ledger.close()
    await expect(ledger.claim('bill', 'charge-1', 1)).rejects.toMatchObject({ code: 'LAZARET_STORE_CLOSED' })
  })
})
