import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { findPostgres } from '../../../test/services/postgres.ts'
import { patience } from '../../../test/support/outbox-world.ts'
import { TestDatabase } from '../../../test/support/postgres.ts'
import type { Replay, ReplayItem } from '../../ports/replays.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'
import { createFactory } from '../../testing/factories.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { openPostgres, postgresLedger } from './index.ts'

const found = await findPostgres()
const server = found.found ? await found.start() : undefined
const database = server && (await TestDatabase.migrated(server))
const clock = new FakeClock()
const make = createFactory({ clock })
const store = database && openPostgres({ pool: database.pool, clock })
const { deadLetters, groups, replays, audit, ledger } = store ?? ({} as NonNullable<typeof store>)
beforeEach(() => database?.clear())
afterAll(async () => {
  await store?.close()
  await database?.close()
  await server?.close()
})
const why = found.found ? '' : ` (skipped: ${found.why})`

function letterAt(at: number, error: Error, channel = 'orders') {
  const attempts = [make.attempt(1, { startedAt: at, endedAt: at })]
  return make.letter({ event: make.event({ channel }), at, error, attempts })
}

describe.runIf(found.found)(`Postgres groups${why}`, () => {
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
    expect(new Set(shown.map(({ id }) => id)).size).toBe(7)
    const times = shown.map(({ lastSeenAt }) => lastSeenAt)
    expect(times).toEqual([...times].sort((a, b) => b - a))
    expect((await groups.list({ channel: 'mails' })).groups.map(({ channels }) => channels)).toEqual([
      ['mails'],
    ])
    expect((await groups.list({ search: 'KIND3' })).groups.map(({ title }) => title)).toEqual([
      'Kind3: cause 3',
    ])
    await groups.change(shown[0]!.id, { state: 'acknowledged', at: now, by: 'bo' })
    expect((await groups.list({ state: 'open', limit: 5 })).groups).toHaveLength(5)
    await expect(groups.list({ cursor: 'x' })).rejects.toThrow('query.cursor')
  })

  it('F8: letters are counted by what became of them, and what people say stays', async () => {
    const now = clock.now()
    const error = new TypeError('no id')
    const [first, second, third] = [1, 2, 3].map(at => letterAt(now + at, error))
    for (const letter of [first, second, third]) await deadLetters.send(letter!)
    await deadLetters.change(first!.id, { to: 'replaying', at: now })
    await deadLetters.change(first!.id, { to: 'resolved', at: now })
    await deadLetters.change(second!.id, { to: 'discarded', at: now })
    const { id } = (await groups.list()).groups[0]!
    expect(await groups.get(id)).toMatchObject({
      count: 3,
      waiting: 1,
      replayed: 1,
      recovered: 1,
      firstSeenAt: now + 1,
      lastSeenAt: now + 3,
    })
    await groups.change(id, {
      state: 'muted',
      mutedUntil: now + 1_000,
      owner: 'ada',
      note: 'known \0',
      at: now,
      by: 'bo',
    })
    expect(await groups.get(id)).toMatchObject({
      state: 'muted',
      triage: { owner: 'ada', mutedUntil: now + 1_000, setBy: 'bo' },
      notes: [{ text: 'known \0', by: 'bo' }],
    })
    for (const letter of [first, second, third]) await deadLetters.delete(letter!.id)
    expect(await groups.get(id)).toBeUndefined()
    expect(await groups.change(id, { owner: 'cy', at: now, by: 'bo' })).toBeUndefined()
    await deadLetters.send(third!)
    await groups.change(id, { state: 'resolved', owner: null, at: now + 3, by: 'bo' })
    expect(await groups.get(id)).toMatchObject({ state: 'resolved', regressed: false })
    await deadLetters.send(letterAt(now + 5, error))
    const group = await groups.get(id)
    expect([group?.state, group?.regressed, group?.triage.owner]).toEqual(['open', true, undefined])
  })

  it('P2: what Postgres cannot hold as text is kept in letters and found all the same', async () => {
    const event = make.event({ payload: { text: 'a\0b\ud800' } })
    const letter = make.letter({ event, error: new Error('broken \0 text') })
    await deadLetters.send(letter)
    expect(await deadLetters.get(letter.id)).toEqual(letter)
    expect((await deadLetters.list({ search: 'BROKEN \0' })).letters).toEqual([letter])
    expect((await deadLetters.list({ channel: 'or\0ders' })).letters).toEqual([])
    expect((await deadLetters.list({ after: -1e300, before: 1e300 })).letters).toEqual([letter])
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

describe.runIf(found.found)(`Postgres replays${why}`, () => {
  it('K8: a replay and all its items are there, or nothing of it', async () => {
    await replays.create(REPLAY, itemsOf(1_200))
    expect(await replays.get('replay-1')).toEqual(REPLAY)
    expect(await replays.items('replay-1')).toEqual(itemsOf(1_200))
    await expect(replays.create(REPLAY, itemsOf(1))).rejects.toMatchObject({ code: 'LAZARET_REPLAY_REFUSED' })
    const broken = [...itemsOf(1), ...itemsOf(1)]
    await expect(replays.create({ ...REPLAY, id: 'replay-2' }, broken)).rejects.toThrow()
    expect(await replays.get('replay-2')).toBeUndefined()
    expect((await replays.counts('replay-1')).waiting).toBe(1_200)
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
    const approved = await replays.update({ ...REPLAY, state: 'approved' })
    expect(approved).toMatchObject({ state: 'approved', revision: 1 })
    expect(await replays.update({ ...REPLAY, state: 'cancelled' })).toBeUndefined()
    expect((await replays.list()).map(({ id }) => id)).toEqual(['replay-2', 'replay-1'])
    expect((await replays.list({ state: 'approved' })).map(({ id }) => id)).toEqual(['replay-1'])
  })

  it('K8: one runner at a time has it, until its lease runs out or it lets go', async () => {
    await replays.create(REPLAY, [])
    expect(await replays.lease('replay-1', 'a', 60_000)).toBe(true)
    expect(await replays.lease('replay-1', 'b', 60_000)).toBe(false)
    expect(await replays.lease('replay-1', 'a', 0)).toBe(true)
    expect(await replays.lease('replay-1', 'b', 60_000)).toBe(true)
    await replays.letGo('replay-1', 'a')
    expect(await replays.lease('replay-1', 'a', 60_000)).toBe(false)
    await replays.letGo('replay-1', 'b')
    expect(await replays.lease('replay-1', 'a', 60_000)).toBe(true)
    expect(await replays.lease('no-such-replay', 'a', 60_000)).toBe(false)
  })
})

describe.runIf(found.found)(`Postgres audit log${why}`, () => {
  it('B13: what was done is listed newest first, by target and action, page by page', async () => {
    for (let index = 0; index < 5; index++) {
      const detail = index === 0 ? {} : { detail: { index, list: [null] } }
      const [action, target] = [index % 2 === 0 ? 'letter.discard' : 'group.mute', `letter-${index % 3}`]
      await audit.append({ at: clock.now(), by: 'ada', action, target, ...detail })
    }
    const first = await audit.list({ limit: 3 })
    const second = await audit.list({ limit: 3, cursor: first.cursor })
    const shown = [...first.entries, ...second.entries].map(({ detail }) => detail?.['index'])
    expect(shown).toEqual([4, 3, 2, 1, undefined])
    expect(first.entries[0]).toMatchObject({ at: clock.now(), by: 'ada' })
    expect(second.cursor).toBeUndefined()
    expect((await audit.list({ target: 'letter-0', action: 'group.mute' })).entries).toHaveLength(1)
    expect((await audit.list({ action: 'letter.discard' })).entries).toHaveLength(3)
    await expect(audit.list({ cursor: 'x' })).rejects.toThrow('query.cursor')
  })
})

describe.runIf(found.found)(`what a Postgres ledger forgets${why}`, () => {
  it('S8: of its own handlers, what was handled longer ago than it is to be kept or never finished', async () => {
    const { pool } = database!
    const short = postgresLedger({ pool, ledgerRetentionMs: 1 })
    await ledger.record(pool, 'ship', 'kept')
    await short.claim('bill', 'never-finished', 0)
    const handled = async () => (await database!.rows('select 1 from lazaret.event_handled')).length
    for (let key = 0; key < 1_000; key++) await short.record(pool, 'bill', `charge-${key}`)
    await patience.eventually(async () => (await handled()) < 700, 'most are forgotten')
    expect(await short.claim('bill', 'never-finished', 1)).toMatchObject({ kind: 'claimed' })
    expect(await ledger.claim('ship', 'kept', 1)).toMatchObject({ kind: 'done' })
    await short.close()
  })
})

describe.runIf(found.found)(`Postgres ledger in the handler's transaction${why}`, () => {
  /** A handler that writes one row for an event, however often and by however many it is run. */
  async function charge(key: string, end: 'commit' | 'rollback'): Promise<boolean> {
    const tx = await database!.pool.connect()
    try {
      await tx.query('begin')
      const isFirst = await ledger.record(tx, 'bill', key)
      if (isFirst) await tx.query('insert into charges values ($1)', [key])
      await tx.query(end)
      return isFirst
    } finally {
      tx.release()
    }
  }
  const charges = async (key: string) =>
    (await database!.rows('select 1 from charges where key = $1', [key])).length

  it('S8: what is recorded with the effect happens once, whoever tries at the same moment', async () => {
    await database!.pool.query('create table if not exists charges (key text)')
    const key = uniqueName('charge')
    const tries = await Promise.all(Array.from({ length: 8 }, () => charge(key, 'commit')))
    expect(tries.filter(isFirst => isFirst)).toHaveLength(1)
    expect(await charges(key)).toBe(1)
    expect(await ledger.claim('bill', key, 1_000)).toMatchObject({ kind: 'done' })
  })

  it('S8: rolled back, neither the effect nor the record was ever there', async () => {
    await database!.pool.query('create table if not exists charges (key text)')
    const key = uniqueName('charge')
    expect(await charge(key, 'rollback')).toBe(true)
    expect(await charges(key)).toBe(0)
    expect(await charge(key, 'commit')).toBe(true)
    expect(await charges(key)).toBe(1)
  })

  it('S8: a pair that the consumer has claimed is recorded all the same, and done for everyone', async () => {
    await database!.pool.query('create table if not exists charges (key text)')
    const key = uniqueName('charge')
    const claim = await ledger.claim('bill', key, 60_000)
    expect(await charge(key, 'commit')).toBe(true)
    expect(claim.kind === 'claimed' && (await ledger.complete('bill', key, claim.token))).toBe(false)
    expect(await ledger.claim('bill', key, 1_000)).toMatchObject({ kind: 'done' })
  })
})
