import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { createWorldAfterOutage, removeFolders } from '../../../test/support/cli-replay.ts'

afterEach(removeFolders)

/** A minute after the outage. The world of `flags` differs from the world without flags in nothing else. */
async function planned(...flags: readonly string[]) {
  const { lazaret, store, clock, folder } = await createWorldAfterOutage(2)
  await clock.advance(59_000)
  await writeFile(join(folder, 'fix.json'), '[{ "op": "replace", "path": "/amount", "value": 7 }]')
  const { code, json } = await lazaret('replay', 'plan', '--reason', 'fixed', ...flags, '--json')
  expect(code).toBe(0)
  const [replay, ...others] = await store.replays.list()
  expect(others).toEqual([])
  expect(json[0].id).toBe(replay!.id)
  const letterIds = (await store.replays.items(replay!.id)).map(({ letterId }) => letterId)
  return { replay, letterIds, letters: (await store.deadLetters.list()).letters }
}

const NOW = Date.parse('2026-01-01T00:01:00.000Z')

/** The plan without flags, whole: a field that nobody asked for is a fault too. */
const DEFAULTS = {
  v: 1,
  id: expect.any(String),
  state: 'approved',
  reason: 'fixed',
  createdAt: NOW,
  createdBy: 'ann',
  selectedBy: { filter: {} },
  count: 2,
  hash: expect.any(String),
  findings: { replay: 2 },
  stages: [1, 10, 100, 'rest'],
  perSecond: 50,
  halt: { refailRatio: 0.2, onSameFingerprint: true },
  maxAgeMs: 86_400_000,
  allowQuarantined: false,
  needsApproval: false,
  checks: expect.any(Array),
  stage: 0,
  revision: 0,
}

const filtered = (filter: object) => ({ selectedBy: { filter } })

describe('B10: a plan of the command line', () => {
  it('B10: has the defaults and nothing else when only a reason is given', async () => {
    const { replay, letterIds, letters } = await planned()
    expect(replay).toEqual(DEFAULTS)
    expect(letterIds.toSorted()).toEqual(letters.map(({ id }) => id).toSorted())
  })

  it.each<[string, object]>([
    ['--stages 2,5,rest', { stages: [2, 5, 'rest'] }],
    ['--per-second 7', { perSecond: 7 }],
    ['--halt-refail-ratio 0.4', { halt: { refailRatio: 0.4, onSameFingerprint: true } }],
    ['--no-halt-on-same-cause', { halt: { refailRatio: 0.2, onSameFingerprint: false } }],
    ['--to orders-2', { to: 'orders-2' }],
    ['--patch fix.json', { patch: [{ op: 'replace', path: '/amount', value: 7 }] }],
    ['--max-age 3h', { maxAgeMs: 10_800_000 }],
    ['--allow-quarantined', { allowQuarantined: true }],
    ['--needs-approval', { needsApproval: true, state: 'planned' }],
    ['--by bob', { createdBy: 'bob' }],
    ['--channel orders', filtered({ channel: 'orders' })],
    ['--handler orders', filtered({ handler: 'orders' })],
    ['--type order.placed', filtered({ type: 'order.placed' })],
    ['--letter-reason attempts_exhausted', filtered({ reason: 'attempts_exhausted' })],
    ['--category unknown', filtered({ category: 'unknown' })],
    ['--state dead', filtered({ state: 'dead' })],
    ['--after 1h', filtered({ after: NOW - 3_600_000 })],
    ['--before 2026-01-01T00:00:30Z', filtered({ before: NOW - 30_000 })],
    ['--search order', filtered({ search: 'order' })],
  ])('B10: %s changes that and nothing else', async (flags, changed) => {
    const { replay } = await planned(...flags.split(' '))
    expect(replay).toEqual({ ...DEFAULTS, ...changed })
  })

  it('B10: has all the options that were given together, and exactly the letters', async () => {
    const world = await createWorldAfterOutage(3)
    const [first, second] = (await world.store.deadLetters.list()).letters
    const flags =
      '--stages 2,rest --per-second 7 --halt-refail-ratio 0.4 --no-halt-on-same-cause --to orders-2 --max-age 3h --allow-quarantined --needs-approval --by bob'
    const ids = [first!.id, second!.id]
    const id = await world.plan(...ids, ...flags.split(' '))
    expect(await world.store.replays.get(id)).toEqual({
      ...DEFAULTS,
      createdAt: world.clock.now(),
      reason: 'mended',
      state: 'planned',
      createdBy: 'bob',
      selectedBy: { ids },
      stages: [2, 'rest'],
      perSecond: 7,
      halt: { refailRatio: 0.4, onSameFingerprint: false },
      to: 'orders-2',
      maxAgeMs: 10_800_000,
      allowQuarantined: true,
      needsApproval: true,
    })
    const items = await world.store.replays.items(id)
    expect(items.map(({ letterId }) => letterId).toSorted()).toEqual(ids.toSorted())
  })

  it('K8: --require-schema plans nothing when no schema can check the letters', async () => {
    const { lazaret, store } = await createWorldAfterOutage(2)
    const { code, err } = await lazaret('replay', 'plan', '--reason', 'fixed', '--require-schema')
    expect([code, await store.replays.list()]).toEqual([1, []])
    expect(err).toContain(
      '2 letters skipped: payload refused by the schema, or not checked (unknown: no living process in the fleet consumes orders/orders)',
    )
  })

  it.each([
    '--channel none',
    '--state parked',
    '--before 2026-01-01T00:00:00Z',
    '--letter-reason poison',
    '--handler bill',
  ])('B10: %s selects no letter of this outage', async flags => {
    const { lazaret, clock } = await createWorldAfterOutage(1)
    await clock.advance(59_000)
    const { code, err } = await lazaret('replay', 'plan', '--reason', 'r', ...flags.split(' '))
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('no letter matches') })
  })
})
