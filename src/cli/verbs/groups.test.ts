import { describe, expect, it } from 'vitest'
import { cliWorld } from '../../../test/support/cli.ts'
import type { Store } from '../../ports/store.ts'

async function twoCauses() {
  const world = cliWorld()
  const { factory, clock, bury, store } = world
  await bury(factory.letter({ error: new Error('refused by ann@example.com') }))
  await clock.advance(60_000)
  await bury(
    factory.letter({ error: new TypeError('no amount') }),
    factory.letter({ channel: 'billing', error: new TypeError('no amount') }),
  )
  const { groups } = await store.groups.list()
  return { ...world, newer: groups[0]!.id, older: groups[1]!.id }
}

async function resolve({ deadLetters }: Store, id: string) {
  await deadLetters.change(id, { to: 'replaying', at: 1, replayId: 'r1' })
  await deadLetters.change(id, { to: 'resolved', at: 2 })
}

describe('groups list and show', () => {
  it('F8: are told by cause, last seen first, masked', async () => {
    const { lazaret, newer, older } = await twoCauses()
    const { code, out } = await lazaret('groups', 'list')
    expect(code).toBe(0)
    expect(out).toBe(
      [
        'ID                STATE  WAITING  TOTAL  LAST SEEN                 CATEGORY  OWNER  TITLE',
        `${newer}  open   2        2      2026-01-01T00:01:00.000Z  unknown   -      TypeError: no amount`,
        `${older}  open   1        1      2026-01-01T00:00:00.000Z  unknown   -      Error: refused by ***`,
        '',
      ].join('\n'),
    )
    const { json } = await lazaret('groups', 'list', '--json', '--channel', 'billing')
    expect(json).toMatchObject([
      { id: newer, count: 2, state: 'open', lastSeenAt: '2026-01-01T00:01:00.000Z' },
    ])
  })

  it('F8: pages, and says when nothing matches', async () => {
    const { lazaret } = await twoCauses()
    const first = await lazaret('groups', 'list', '--limit', '1', '--json')
    const [, cursor = ''] = /--cursor (\S+)/.exec(first.err) ?? []
    const second = await lazaret('groups', 'list', '--limit', '1', '--json', '--cursor', cursor)
    expect(second.json).toHaveLength(1)
    expect(second.json[0].id).not.toBe(first.json[0].id)
    expect(await lazaret('groups', 'list', '--state', 'muted')).toMatchObject({
      code: 0,
      out: '',
      err: 'no groups match\n',
    })
  })

  it('F8: one is shown with where, how often and since when', async () => {
    const { lazaret, newer } = await twoCauses()
    const { code, out } = await lazaret('groups', 'show', newer.slice(0, 6))
    expect(code).toBe(0)
    expect(out).toBe(`group ${newer}  open
  cause       TypeError: no amount
  category    unknown
  grouped by  message: TypeError: no amount
  channels    orders, billing
  letters     2 (2 waiting)
  replayed    0
  first seen  2026-01-01T00:01:00.000Z (now)
  last seen   2026-01-01T00:01:00.000Z (now)
  state       open
`)
    expect(await lazaret('groups', 'show', 'nope')).toMatchObject({
      code: 1,
      err: "lazaret: no group has the ID nope; run 'lazaret groups list' to see the IDs\n",
    })
  })
})

describe('groups show', () => {
  it('F8: says with which release a group began, and what separates failed from recovered letters', async () => {
    const world = cliWorld()
    const { factory, clock, bury, store, lazaret } = world
    const letter = (release: string, plan: string, message = 'no amount') =>
      factory.letter({ release, event: factory.event({ payload: { plan } }), error: new TypeError(message) })
    await bury(letter('2.3.0', 'free', 'another cause'))
    await clock.advance(60_000)
    await bury(letter('2.4.0', 'free', 'another cause'))
    await clock.advance(180_000)
    const plans = Array.from({ length: 12 }, (_, index) => (index % 2 === 0 ? 'free' : 'gold'))
    const letters = await bury(...plans.map(plan => letter('2.4.0', plan)))
    for (const [index, { id }] of letters.entries()) if (plans[index] === 'gold') await resolve(store, id)
    const { groups } = await store.groups.list({ search: 'no amount' })
    const { out } = await lazaret('groups', 'show', groups[0]!.id)
    expect(out).toContain('  began       with release 2.4.0, 3m after its first failure\n')
    expect(out).toContain(`What failed and recovered letters differ in
  payload.plan = "free": failed 6 of 6, recovered 0 of 6
`)
    const { json } = await lazaret('groups', 'show', groups[0]!.id, '--json')
    expect(json[0]).toMatchObject({
      timeline: { began: { release: '2.4.0', afterMs: 180_000, since: 'letter' } },
      differences: { failed: 6, recovered: 6, fields: [{ field: 'payload.plan', value: '"free"' }] },
    })
  })
})

describe('groups ack, mute and resolve', () => {
  it('F8: say who sees to it, and are audited', async () => {
    const { lazaret, newer, audited } = await twoCauses()
    const { code, json } = await lazaret(
      'groups',
      'ack',
      newer,
      '--owner',
      'bob',
      '--link',
      'https://t/1',
      '--note',
      'on it',
      '--json',
    )
    expect(code).toBe(0)
    expect(json[0]).toMatchObject({
      state: 'acknowledged',
      triage: { owner: 'bob', link: 'https://t/1', setBy: 'ann', setAt: '2026-01-01T00:01:00.000Z' },
      notes: [{ at: '2026-01-01T00:01:00.000Z', by: 'ann', text: 'on it' }],
    })
    expect(await audited()).toEqual([['group.ack', newer, 'ann']])
  })

  it('F8: muting ends by itself', async () => {
    const { lazaret, newer, clock } = await twoCauses()
    const { code, out } = await lazaret('groups', 'mute', newer, '--until', '3d')
    expect(code).toBe(0)
    expect(out).toContain(
      'state       muted until 2026-01-04T00:01:00.000Z (in 3d) since 2026-01-01T00:01:00.000Z (now), by ann',
    )
    await clock.advance(3 * 86_400_000)
    expect((await lazaret('groups', 'show', newer, '--json')).json[0].state).toBe('open')
    expect(await lazaret('groups', 'mute', newer, '--until', '2026-01-02')).toMatchObject({
      code: 2,
      err: 'lazaret: groups mute: invalid --until "2026-01-02"; the time is in the past; give a future time\n',
    })
  })

  it('F8: what fails after it was resolved is back', async () => {
    const { lazaret, newer, clock, bury, factory } = await twoCauses()
    expect((await lazaret('groups', 'resolve', newer, '--json')).json[0].state).toBe('resolved')
    await clock.advance(1_000)
    await bury(factory.letter({ error: new TypeError('no amount') }))
    expect((await lazaret('groups', 'list')).out).toContain(`${newer}  open (regressed)`)
    expect((await lazaret('groups', 'show', newer)).out).toContain(
      'regressed: a new letter arrived after it was resolved',
    )
  })

  it('F8: an unknown group fails', async () => {
    const { lazaret } = await twoCauses()
    expect((await lazaret('groups', 'ack', 'nope')).code).toBe(1)
  })
})
