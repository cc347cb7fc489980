import { describe, expect, it } from 'vitest'
import { serverWorld } from '../../../test/support/server-world.ts'
import { MINUTE_MS } from '../../../test/support/watching-world.ts'
import { memorySink, memoryStore } from '../../adapters/memory/index.ts'
import { alertOf } from '../../core/alert/document.ts'
import { createNotifier } from '../../integrations/notify/index.ts'
import type { DeadLetterStore } from '../../ports/dead-letters.ts'
import type { Notice } from '../../ports/notifier.ts'
import type { Replay } from '../../ports/replays.ts'
import type { Store } from '../../ports/store.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import type { ServerOptions } from '../index.ts'
import { scanExpiring } from './store-alerts.ts'

const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** A server whose notices about groups, replays and retention are kept as short texts. */
function world(options: Partial<ServerOptions> = {}, heard: string[] = []) {
  const notify = async (notice: Notice) => {
    if (notice.kind === 'channel_alert' || !('firing' in notice)) return
    const id = 'group' in notice ? notice.group.id : 'replay' in notice ? notice.replay.id : notice.channel
    heard.push(`${notice.kind} ${id} ${notice.firing ? 'begins' : 'ends'}`)
  }
  const made = serverWorld({ watch: {}, notifier: { notify }, ...options })
  const minute = (count = 1) => made.clock.advance(count * MINUTE_MS)
  return { ...made, heard, notify, minute }
}

async function resolveGroup(store: Store, id: string, at: number) {
  await store.groups.change(id, { state: 'resolved', at, by: 'ada' })
}

async function groupIdOf(store: Store): Promise<string> {
  return (await store.groups.list()).groups[0]!.id
}

async function plan(store: Store, given: Partial<Replay>): Promise<Replay> {
  const replay: Replay = {
    v: 1,
    id: 'r1',
    state: 'planned',
    reason: 'the card service is back',
    createdAt: 1,
    createdBy: 'ada',
    selectedBy: {},
    count: 3,
    hash: '',
    findings: {},
    stages: ['rest'],
    perSecond: 50,
    halt: { refailRatio: 0.2, onSameFingerprint: true },
    maxAgeMs: DAY_MS,
    allowQuarantined: false,
    needsApproval: true,
    stage: 0,
    revision: 1,
    ...given,
  }
  await store.replays.create(replay, [])
  return replay
}

async function update(store: Store, id: string, change: Partial<Replay>): Promise<void> {
  const replay = (await store.replays.get(id))!
  expect(await store.replays.update({ ...replay, ...change })).toBeDefined()
}

describe('alerts about groups, replays and retention', () => {
  it('S7: tell once that a resolved group regressed, once that it is over, and again for the next resolution', async () => {
    const { bury, make, minute, heard, store, clock, ask, server, audited } = world()
    await bury(make.letter())
    const id = await groupIdOf(store)
    await resolveGroup(store, id, clock.now())
    await ask('/healthz')
    await minute(2)
    expect(heard).toEqual([])
    await bury(make.letter(), make.letter())
    await minute(3)
    expect(heard).toEqual([`group_regressed ${id} begins`])
    await resolveGroup(store, id, clock.now())
    await minute(2)
    expect(heard.slice(1)).toEqual([`group_regressed ${id} ends`])
    await bury(make.letter())
    await minute(2)
    expect(heard.slice(2)).toEqual([`group_regressed ${id} begins`])
    expect(await audited()).toEqual(expect.arrayContaining([expect.stringContaining('notice.begin')]))
    await server.close()
  })

  it('S7: tell of a replay that halted, of each halt, and of one that waits for approval', async () => {
    const { minute, heard, store, clock, ask, server } = world()
    await plan(store, { id: 'waits' })
    await plan(store, { id: 'runs', state: 'halted', needsApproval: false })
    await plan(store, { id: 'free', needsApproval: false })
    await ask('/healthz')
    await minute(3)
    expect(heard.toSorted()).toEqual(['replay_halted runs begins', 'replay_needs_approval waits begins'])
    await update(store, 'waits', { state: 'approved' })
    await update(store, 'runs', { state: 'halted', resumedAt: clock.now() })
    await minute(2)
    expect(heard.slice(2).toSorted()).toEqual([
      'replay_halted runs begins',
      'replay_halted runs ends',
      'replay_needs_approval waits ends',
    ])
    await server.close()
  })

  it('K9: tell a day before retention deletes letters that nobody decided about', async () => {
    const { bury, make, minute, heard, store, ask, server } = world({
      expireUndecidedAfterMs: 7 * DAY_MS,
      watch: { everyMs: HOUR_MS },
    })
    const [letter] = await bury(make.letter({ channel: 'orders' }))
    await ask('/healthz')
    await minute(5 * 24 * 60)
    expect(heard).toEqual([])
    await minute(25 * 60)
    expect(heard).toEqual(['letters_expiring orders begins'])
    await store.deadLetters.change(letter!.id, { to: 'discarded', at: 1 })
    await minute(121)
    expect(heard.slice(1)).toEqual(['letters_expiring orders ends'])
    await server.close()
  })

  it('K9: tell of letters with a time to live of their own, unless it is off', async () => {
    for (const [expiringWithinMs, expected] of [
      [HOUR_MS, ['letters_expiring orders begins']],
      ['off', []],
    ] as const) {
      const { make, minute, heard, store, ask, server, clock } = world({ watch: { expiringWithinMs } })
      await store.deadLetters.send(
        make.letter({ channel: 'orders', expiresAt: clock.now() + 90 * MINUTE_MS }),
      )
      await ask('/healthz')
      await minute(61)
      expect(heard).toEqual(expected)
      await server.close()
    }
  })

  it('K9: of a state with more letters than one scan reads count the oldest, and say that there may be more', async () => {
    const { make, store, clock } = world()
    const until = clock.now() + DAY_MS
    const letters = Array.from({ length: 200 }, () => make.letter({ channel: 'orders', expiresAt: until }))
    let pages = 0
    const endless: DeadLetterStore = {
      ...store.deadLetters,
      list: async query => {
        if (query?.state !== 'dead') return { letters: [], cursor: undefined }
        pages += 1
        return { letters, cursor: 'next' }
      },
    }
    const { channels, isCut } = await scanExpiring(
      endless,
      { retentionMs: 'never', expireUndecidedAfterMs: 'never' },
      until,
      new AbortController().signal,
    )
    expect(channels.get('orders')).toEqual({ count: 10_000, firstAt: until })
    expect(isCut).toBe(true)
    expect(pages).toBe(51)
  })

  it('B19: are told by one of two servers, and not again after a restart', async () => {
    const clock = new FakeClock()
    const store = memoryStore({ clock })
    const heard: string[] = []
    const first = world({ stores: store, clock }, heard)
    const second = world({ stores: store, clock }, heard)
    await plan(store, { id: 'waits' })
    for (const { ask } of [first, second]) await ask('/healthz')
    await clock.advance(3 * MINUTE_MS)
    expect(heard).toEqual(['replay_needs_approval waits begins'])
    await first.server.close()
    await clock.advance(3 * MINUTE_MS)
    await second.server.close()
    // The ledger has forgotten the notice by then, and the audit log has not.
    await clock.advance(30 * DAY_MS)
    const third = world({ stores: store, clock }, heard)
    await third.ask('/healthz')
    await clock.advance(3 * MINUTE_MS)
    expect(heard).toHaveLength(1)
    await third.server.close()
  })

  it('B19: of a store without a ledger are not told again after a restart, and the end is told', async () => {
    const clock = new FakeClock()
    const store: Store = { ...memoryStore({ clock }), ledger: undefined }
    const heard: string[] = []
    const first = world({ stores: store, clock }, heard)
    await plan(store, { id: 'waits' })
    await first.ask('/healthz')
    await clock.advance(3 * MINUTE_MS)
    await first.server.close()
    await update(store, 'waits', { state: 'approved' })
    const next = world({ stores: store, clock }, heard)
    await next.ask('/healthz')
    await clock.advance(3 * MINUTE_MS)
    expect(heard).toEqual(['replay_needs_approval waits begins', 'replay_needs_approval waits ends'])
    await next.server.close()
  })

  it('S7: do not end while their store is unreachable, and a notice that fails is sent again', async () => {
    const clock = new FakeClock()
    const own = memoryStore({ clock })
    const line = { isDown: false, isDeaf: true }
    const store: Store = {
      ...own,
      replays: {
        ...own.replays,
        list: options =>
          line.isDown ? Promise.reject(new Error('connection refused')) : own.replays.list(options),
      },
    }
    const heard: string[] = []
    const { notify } = world({}, heard)
    const notifier = {
      notify: (notice: Notice) => (line.isDeaf ? Promise.reject(new Error('no chat')) : notify(notice)),
    }
    const { ask, server, errors } = world({ stores: store, clock, notifier }, heard)
    await plan(own, { id: 'waits' })
    await ask('/healthz')
    await clock.advance(2 * MINUTE_MS)
    expect(heard).toEqual([])
    line.isDeaf = false
    await clock.advance(2 * MINUTE_MS)
    expect(heard).toEqual(['replay_needs_approval waits begins'])
    line.isDown = true
    await clock.advance(5 * MINUTE_MS)
    expect(heard).toHaveLength(1)
    expect(errors.map(String).join()).toContain('connection refused')
    await server.close()
  })

  it('S7: lead to the page of the console that they are about', async () => {
    const clock = new FakeClock()
    const sink = memorySink()
    const notifier = createNotifier({
      to: { chat: sink },
      deadLetters: memoryStore({ clock }).deadLetters,
      consoleUrl: 'https://lazaret.example/ops/',
      clock,
      random: seededRandom(1),
    })
    const at = clock.now()
    await notifier.notify({
      kind: 'group_regressed',
      at,
      firing: true,
      group: { id: 'g1', title: 'Error: no' },
    })
    const replay = { id: 'r1', letters: 3, by: 'ada', reason: 'fixed', halted: '2 of 3 failed again' }
    await notifier.notify({ kind: 'replay_halted', at, firing: true, replay })
    await notifier.notify({ kind: 'replay_needs_approval', at, firing: true, replay: { id: 'r2' } })
    const expiry = { channel: 'orders', count: 2, isMore: false, firstAt: at + DAY_MS }
    await notifier.notify({ kind: 'letters_expiring', at, firing: true, ...expiry })
    await notifier.flush()
    const alerts = sink.events.map(event => alertOf(event)!)
    expect(alerts.map(({ links, title }) => [title, links[0]!.href])).toEqual([
      ['Resolved group regressed: Error: no', 'https://lazaret.example/ops/groups/g1'],
      ['Replay r1 halted', 'https://lazaret.example/ops/replays/r1'],
      ['Replay r2 waits for approval', 'https://lazaret.example/ops/replays/r2'],
      ['Letters of orders expire soon', 'https://lazaret.example/ops/letters?channel=orders'],
    ])
    expect(alerts[1]!.summary).toBe(
      'The replay of 3 letters by ada (fixed) halted: 2 of 3 failed again. Resume or cancel it.',
    )
    await notifier.close()
  })
})
