import { describe, expect, it } from 'vitest'
import { cliWorld } from '../../../test/support/cli.ts'
import { cancelWhileSending } from '../../../test/support/letter-being-sent.ts'
import { planReplay } from '../../replay/plan.ts'

describe('dlq stats', () => {
  it('F8: counts by state, reason and channel', async () => {
    const { lazaret, bury, factory, clock } = cliWorld()
    await bury(factory.letter(), factory.letter({ channel: 'billing', reason: 'poison' }))
    await clock.advance(90_000)
    const { code, out } = await lazaret('dlq', 'stats')
    expect(code).toBe(0)
    expect(out).toBe(`2 dead letters
  oldest  2026-01-01T00:00:00.000Z (1m30s ago)
  newest  2026-01-01T00:00:00.000Z (1m30s ago)

By state
  dead         1
  quarantined  1

By reason
  attempts_exhausted  1
  poison              1

By channel
  orders   1
  billing  1
`)
    const { json } = await lazaret('dlq', 'stats', '--channel', 'billing', '--json')
    expect(json).toEqual([
      {
        count: 1,
        oldestAt: '2026-01-01T00:00:00.000Z',
        newestAt: '2026-01-01T00:00:00.000Z',
        byState: { quarantined: 1 },
        byReason: { poison: 1 },
        byChannel: { billing: 1 },
      },
    ])
  })

  it('E9: a count that stopped says more than, and --exact counts all', async () => {
    const { lazaret, bury, factory, store } = cliWorld()
    await bury(factory.letter(), factory.letter())
    const { stats } = store.deadLetters
    store.deadLetters.stats = async (filter, options) => ({
      ...(await stats.call(store.deadLetters, filter)),
      ...(options?.stopAt === undefined ? {} : { count: options.stopAt, atLeast: true }),
    })
    const { out } = await lazaret('dlq', 'stats')
    expect(out).toContain('more than 100 000 dead letters; --exact counts all of them\n')
    expect(out).toContain('  orders  at least 2\n')
    expect((await lazaret('dlq', 'stats', '--exact')).out).toContain('2 dead letters\n')
  })
})

describe('dlq discard and reopen', () => {
  it('F8: discards each, keeps the letter, and writes down who and why', async () => {
    const { lazaret, bury, factory, store } = cliWorld()
    const [a, b] = await bury(factory.letter(), factory.letter())
    const { code, out } = await lazaret('dlq', 'discard', a!.id, b!.id, '--note', 'test orders')
    expect({ code, out }).toEqual({ code: 0, out: `${a!.id} is discarded\n${b!.id} is discarded\n` })
    expect((await store.deadLetters.get(a!.id))?.state).toBe('discarded')
    expect((await store.audit.list()).entries).toMatchObject([
      { action: 'letter.discard', target: b!.id, by: 'ann', detail: { note: 'test orders' } },
      { action: 'letter.discard', target: a!.id, by: 'ann' },
    ])
  })

  it('F8: goes on past one that is not there: done in part', async () => {
    const { lazaret, bury, factory } = cliWorld()
    const [letter] = await bury(factory.letter())
    const part = await lazaret('dlq', 'discard', 'nope', letter!.id, '--json')
    expect(part).toMatchObject({ code: 3, json: [{ id: letter!.id, state: 'discarded' }] })
    expect(part.err).toContain('no dead letter has the ID nope')
    expect((await lazaret('dlq', 'discard', 'nope')).code).toBe(1)
  })

  it('B9: discarding lets the later events of its key go on', async () => {
    const { lazaret, bury, factory, store } = cliWorld()
    const [letter] = await bury(factory.letter())
    const released: string[] = []
    store.broker!.unblockKey = async (channel, eventId) => void released.push(`${channel} ${eventId}`)
    await lazaret('dlq', 'discard', letter!.id)
    expect(released).toEqual([`orders ${letter!.event.id}`])
  })

  it('B9: says how to unblock the key of a letter whose broker is not configured', async () => {
    const { lazaret, bury, factory } = cliWorld()
    const origin = { broker: 'kafka', brokerKind: 'kafka' }
    const keyed = factory.letter({ event: factory.event({ key: 'a' }), origin })
    const [letter] = await bury(keyed)
    const reason =
      "it came from broker 'kafka', and no kafka broker named 'kafka' is configured; add it to brokers in lazaret.yaml"
    expect(await lazaret('dlq', 'unblock', letter!.id)).toMatchObject({
      code: 1,
      err: `lazaret: key of ${letter!.id}: ${reason}\n`,
    })
    expect(await lazaret('dlq', 'discard', letter!.id)).toMatchObject({
      code: 0,
      err: `warning: if the consumer of ${letter!.id} keeps the order of keys, events of its key still wait: ${reason}. Then run: lazaret dlq unblock ${letter!.id}\n`,
    })
  })

  it('B9: a key that is certainly still blocked makes the discard one that was done in part', async () => {
    const { lazaret, bury, factory, store } = cliWorld()
    const origin = { broker: 'kafka', brokerKind: 'kafka' }
    const keyed = () => factory.letter({ event: factory.event({ key: 'a' }), origin, ordering: 'by-key' })
    const [one, two, three] = await bury(keyed(), keyed(), keyed())
    const reason =
      "it came from broker 'kafka', and no kafka broker named 'kafka' is configured; add it to brokers in lazaret.yaml"
    expect(await lazaret('dlq', 'discard', one!.id)).toMatchObject({
      code: 3,
      out: `${one!.id} is discarded\n`,
      err: `warning: events of the key of ${one!.id} still wait: ${reason}. Then run: lazaret dlq unblock ${one!.id}\n`,
    })
    const all = await lazaret('dlq', 'discard', '--state', 'dead', '--yes')
    expect(all).toMatchObject({ code: 3, out: 'discarded 2 dead letters\n' })
    expect(all.err).toContain(
      `warning: events of the keys of 2 discarded letters still wait: ${reason}. Then run: lazaret dlq unblock `,
    )
    for (const { id } of [two!, three!]) expect(all.err).toContain(id)
    expect((await store.audit.list()).entries).toMatchObject([
      { action: 'letters.discard.partial', detail: { changed: 2, stillBlocked: 2 } },
      { action: 'letters.discard' },
      { action: 'letter.discard.partial', target: one!.id, detail: { stillBlocked: 1 } },
      { action: 'letter.discard' },
    ])
  })

  it('B9: a letter that blocks no key is discarded without a warning', async () => {
    const { lazaret, bury, factory } = cliWorld()
    const origin = { broker: 'kafka', brokerKind: 'kafka' }
    const event = factory.event({ key: 'a' })
    await bury(
      factory.letter({ event, origin, ordering: 'none' }),
      factory.letter({
        origin: { ...origin, collectedFrom: 'orders.dlq' },
        event: factory.event({ key: 'a' }),
      }),
    )
    expect(await lazaret('dlq', 'discard', '--state', 'dead', '--yes')).toMatchObject({ code: 0, err: '' })
  })

  it('K8: a parked, quarantined or discarded letter can be made dead again, so that a replay can take it', async () => {
    const { lazaret, bury, factory, store, audited } = cliWorld()
    const [a, b, c] = await bury(
      factory.letter({ replay: 3 }),
      factory.letter({ reason: 'poison' }),
      factory.letter(),
    )
    await lazaret('dlq', 'discard', c!.id)
    const { code } = await lazaret('dlq', 'reopen', a!.id, b!.id, c!.id, '--note', 'mended')
    expect(code).toBe(0)
    expect((await store.deadLetters.stats()).byState).toEqual({ dead: 3 })
    expect((await audited())[0]).toEqual(['letter.reopen', c!.id, 'ann'])
  })

  it('K8: one that is being replayed has its outcome to come', async () => {
    const { lazaret, bury, factory, store, clock } = cliWorld()
    const [letter] = await bury(factory.letter())
    const environment = { clock, newId: () => 'r' }
    await planReplay(store, { reason: 'mended', by: 'ann' }, environment)
    await store.deadLetters.change(letter!.id, { to: 'replaying', at: clock.now(), replayId: 'r' })
    const reopened = await lazaret('dlq', 'reopen', letter!.id)
    expect(reopened).toMatchObject({
      code: 1,
      err: expect.stringContaining('is replaying and cannot be reopened; replay r is approved'),
    })
    // The core only says that the letter must be reopened. The command line adds its command.
    expect((await lazaret('dlq', 'discard', letter!.id)).err).toContain(
      "if the replay ended without one, reopen it first with 'lazaret dlq reopen'",
    )
  })

  it('B18: one that a process of the fleet may still be sending is not reopened before that is over', async () => {
    const { lazaret, bury, factory, store, clock } = cliWorld()
    const [letter] = await bury(factory.letter())
    await cancelWhileSending(store, letter!, clock)
    const { code, err } = await lazaret('dlq', 'reopen', letter!.id)
    expect({ code, err }).toEqual({
      code: 1,
      err: `lazaret: dead letter ${letter!.id} is replaying and cannot be reopened; a process may still be sending its event for replay r: try again in a minute\n`,
    })
    await clock.advance(60_000)
    expect((await lazaret('dlq', 'reopen', letter!.id)).out).toBe(`${letter!.id} is dead\n`)
  })
})

describe('dlq purge', () => {
  async function withResolved() {
    const world = cliWorld()
    const { factory, store, clock } = world
    const letters = await world.bury(...Array.from({ length: 250 }, () => factory.letter()))
    for (const { id } of letters.slice(0, 240))
      await store.deadLetters.change(id, { to: 'resolved', at: clock.now() })
    return world
  }

  it('F8: asks on a terminal what it would delete, and does so on yes', async () => {
    const { lazaretWith, store, audited } = await withResolved()
    const terminal = { columns: 80, env: { LAZARET_STORE: 'memory:' } }
    const no = await lazaretWith({ ...terminal, answer: 'n' }, 'dlq', 'purge', '--state', 'resolved')
    expect(no).toMatchObject({ code: 1, out: '' })
    expect(no.err).toContain('Permanently delete 240 dead letters (state resolved: 240 resolved)? [y/N]')
    expect((await store.deadLetters.stats()).count).toBe(250)
    const yes = await lazaretWith({ ...terminal, answer: 'y' }, 'dlq', 'purge', '--state', 'resolved')
    expect(yes).toMatchObject({ code: 0, out: 'deleted 240 dead letters\n' })
    expect((await store.deadLetters.stats()).byState).toEqual({ dead: 10 })
    expect(await audited()).toEqual([['letters.purge', 'state resolved', 'ann']])
  })

  it('F8: off a terminal it needs --yes', async () => {
    const { lazaret, store } = await withResolved()
    const refused = await lazaret('dlq', 'purge')
    expect(refused.code).toBe(2)
    expect(refused.err).toContain(
      'Permanently delete 250 dead letters (all letters: 240 resolved, 10 dead)? Confirm with --yes',
    )
    expect(await lazaret('dlq', 'purge', '--yes', '--json')).toMatchObject({
      code: 0,
      json: [{ deleted: 250, of: 250 }],
    })
    expect((await store.deadLetters.stats()).count).toBe(0)
  })

  it('K9: --expired deletes those whose time is over, and no other', async () => {
    const { lazaret, bury, factory, clock, store } = cliWorld()
    const now = clock.now()
    const [, later, never] = await bury(
      factory.letter({ expiresAt: now }),
      factory.letter({ expiresAt: now + 60_000 }),
      factory.letter(),
    )
    expect(await lazaret('dlq', 'purge', '--expired', '--yes')).toMatchObject({
      code: 0,
      out: 'deleted 1 dead letter\n',
    })
    const left = (await store.deadLetters.list()).letters.map(({ id }) => id)
    expect(left.sort()).toEqual([later!.id, never!.id].sort())
  })

  it('F8: what fails after it was asked stays', async () => {
    const { lazaretWith, bury, factory, clock, store } = cliWorld()
    await bury(factory.letter())
    const ask = async () => {
      await clock.advance(1_000)
      await bury(factory.letter())
      return 'yes'
    }
    const { out } = await lazaretWith({ columns: 80, ask, env: { LAZARET_STORE: 'memory:' } }, 'dlq', 'purge')
    expect(out).toBe('deleted 1 dead letter\n')
    expect((await store.deadLetters.stats()).count).toBe(1)
  })

  it('F8: --preview tells what would go, and --until with --digest deletes that or nothing', async () => {
    const { lazaret, bury, factory, clock, store, audited } = cliWorld()
    const [first] = await bury(factory.letter(), factory.letter())
    const { code, json } = await lazaret('dlq', 'purge', '--preview', '--json')
    expect({ code, json }).toMatchObject({ code: 0, json: [{ count: 2, byState: { dead: 2 } }] })
    expect(await audited()).toEqual([])
    const { until, digest } = json[0] as { until: string; digest: string }
    const told = await lazaret('dlq', 'purge', '--preview')
    expect(told.out).toContain(`--until ${until} --digest ${digest}`)
    const purge = () => lazaret('dlq', 'purge', '--until', until, '--digest', digest, '--yes')

    await clock.advance(60_000)
    await store.deadLetters.change(first!.id, { to: 'discarded', at: clock.now() })
    const changed = await purge()
    expect(changed).toMatchObject({ code: 1, out: '' })
    expect(changed.err).toContain('nothing was deleted; run dlq purge --preview again')
    await store.deadLetters.delete(first!.id)
    expect((await purge()).code).toBe(1)
    expect((await store.deadLetters.stats()).count).toBe(1)

    await store.deadLetters.send(first!)
    const at = clock.now()
    const later = factory.letter({ at, attempts: [factory.attempt(1, { startedAt: at, endedAt: at })] })
    await bury(later)
    expect(await purge()).toMatchObject({ code: 0, out: 'deleted 2 dead letters\n' })
    expect((await store.deadLetters.list()).letters.map(({ id }) => id)).toEqual([later.id])
  })

  it('F8: --until and --digest belong together', async () => {
    const { lazaret } = cliWorld()
    expect(await lazaret('dlq', 'purge', '--until', '1h', '--yes')).toMatchObject({
      code: 2,
      err: expect.stringContaining('give --until and --digest together'),
    })
  })

  it('F8: Ctrl-C ends it after the batch under way: done in part', async () => {
    const { lazaretWith, store } = await withResolved()
    const stop = new AbortController()
    const { deleteMany } = store.deadLetters
    store.deadLetters.deleteMany = async seen => {
      stop.abort()
      return deleteMany.call(store.deadLetters, seen)
    }
    const env = { LAZARET_STORE: 'memory:' }
    const stopped = await lazaretWith({ interrupted: stop.signal, env }, 'dlq', 'purge', '--yes')
    expect(stopped).toMatchObject({ code: 3, out: 'deleted 100 dead letters\n' })
    expect(stopped.err).toBe(
      'interrupted: 100 of 250 letters were deleted and the others stay; run the command again for them\n',
    )
    expect((await store.deadLetters.stats()).count).toBe(150)
    expect((await store.audit.list()).entries.toReversed()).toMatchObject([
      { action: 'letters.purge', detail: { letters: 250 } },
      { action: 'letters.purge.partial', detail: { letters: 250, deleted: 100, cancelled: true } },
    ])
  })

  it('F8: Ctrl-C before the question deletes nothing', async () => {
    const { lazaretWith, store } = await withResolved()
    const env = { LAZARET_STORE: 'memory:' }
    const stopped = await lazaretWith({ interrupted: AbortSignal.abort(), env }, 'dlq', 'purge', '--yes')
    expect(stopped).toMatchObject({ code: 1, out: '', err: 'interrupted: nothing was deleted\n' })
    expect((await store.deadLetters.stats()).count).toBe(250)
    expect((await store.audit.list()).entries).toEqual([])
  })

  it('F8: nothing to delete needs no question', async () => {
    const { lazaret } = cliWorld()
    expect(await lazaret('dlq', 'purge')).toMatchObject({ code: 0, out: 'deleted 0 dead letters\n' })
  })
})
