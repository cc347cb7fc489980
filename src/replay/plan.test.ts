import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createWorldAfterOutage } from '../../test/support/outage.ts'
import type { PatchOperation } from '../ports/replays.ts'
import type { StandardSchema } from '../ports/schema.ts'
import { cancelReplay } from './control.ts'
import { EmptyPlanError } from './empty-plan.ts'
import { planReplay } from './plan.ts'
import { runReplay } from './runner.ts'

const request = { reason: 'r', by: 'ann' }

function schemaOf(validate: StandardSchema['~standard']['validate']): StandardSchema {
  return { '~standard': { version: 1, vendor: 'test', validate } }
}

const never = () => new Promise<never>(() => {})

describe('a plan without a letter that can be sent', () => {
  it('B10: is refused, counts the letters by reason, and is not stored', async () => {
    const it = await createWorldAfterOutage(4)
    const { letters } = await it.store.deadLetters.list()
    await it.store.deadLetters.change(letters[0]!.id, { to: 'quarantined', at: it.clock.now() })
    await it.clock.advance(25 * 3_600_000)
    const refused = (await it.plan().catch((error: unknown) => error)) as EmptyPlanError
    expect(refused).toBeInstanceOf(EmptyPlanError)
    expect(refused).toMatchObject({
      code: 'LAZARET_REPLAY_EMPTY',
      retryable: false,
      findings: { skip_expired: 3, skip_unapproved: 1 },
    })
    expect(refused.message).toMatch(/^none of the 4 letters can be sent; nothing was planned: /)
    expect(refused.message).toContain('3 over the age limit')
    expect(refused.message).toContain('1 quarantined, or not allowed for automatic replay')
    expect(await it.store.replays.list()).toEqual([])
    expect((await it.store.audit.list()).entries.map(({ action }) => action)).not.toContain('replay.plan')
    await expect(it.plan({ filter: { channel: 'none' } })).rejects.toThrow(
      'no letter matches; nothing was planned',
    )
    expect(await it.plan({ maxAgeMs: 48 * 3_600_000 })).toMatchObject({ findings: { replay: 3 } })
  })

  it('P2: has the reasons of the letters, and shows none of them in a log', async () => {
    const it = await createWorldAfterOutage(1)
    const strict = schemaOf(() => ({ issues: [{ message: '"hunter2" is too short' }] }))
    const refused = await planReplay(it.store, request, { ...it.environment, schemaOf: () => strict }).catch(
      (error: unknown) => error as EmptyPlanError,
    )
    expect((refused as EmptyPlanError).skipped).toMatchObject([{ reason: '"hunter2" is too short' }])
    expect(inspect(refused, { depth: 9, showHidden: true }) + JSON.stringify(refused)).not.toContain(
      'hunter2',
    )
  })
})

describe('a plan with letters of another unfinished replay', () => {
  it('B10: names the replay and the number of letters that both have to send', async () => {
    const it = await createWorldAfterOutage(5)
    const { letters } = await it.store.deadLetters.list()
    const first = await it.plan({ ids: letters.slice(0, 3).map(({ id }) => id) })
    expect(first).not.toHaveProperty('overlaps')
    const second = await it.plan({ ids: letters.slice(2).map(({ id }) => id), needsApproval: true })
    expect(second.overlaps).toEqual([{ replayId: first.id, count: 1 }])
    const third = await it.plan()
    expect(third.overlaps).toHaveLength(2)
    expect(third.overlaps).toContainEqual({ replayId: first.id, count: 3 })
    expect(third.overlaps).toContainEqual({ replayId: second.id, count: 3 })
    expect((await it.store.replays.get(third.id))?.overlaps).toEqual(third.overlaps)
  })

  it('B10: does not name a replay that has ended, or letters that it has sent already', async () => {
    const it = await createWorldAfterOutage(4)
    it.world.broken = () => false
    const { letters } = await it.store.deadLetters.list()
    const cancelled = await it.plan({ ids: [letters[0]!.id] })
    await cancelReplay(it.store, cancelled.id, { by: 'ann', clock: it.clock })
    const finished = await it.plan({ ids: [letters[1]!.id] })
    await it.start(finished)
    expect(await it.run(finished)).toMatchObject({ state: 'finished' })
    expect(await it.plan()).not.toHaveProperty('overlaps')
  })
})

describe('a patch', () => {
  it('B13: that only tests values is not an edit, so a quarantined letter is not sent unchanged', async () => {
    const it = await createWorldAfterOutage(1)
    const [letter] = (await it.store.deadLetters.list()).letters
    await it.store.deadLetters.change(letter!.id, { to: 'quarantined', at: it.clock.now() })
    await expect(it.plan({ patch: [{ op: 'test', path: '/total', value: 'ten' }] })).rejects.toThrow(
      EmptyPlanError,
    )
    const patch = [{ op: 'replace', path: '/total', value: 10 }] as const
    expect(await it.plan({ patch })).toMatchObject({ findings: { replay: 1 } })
  })

  it.each<readonly [string, readonly PatchOperation[]]>([
    ['writes the value that is there', [{ op: 'replace', path: '/total', value: 'ten' }]],
    ['moves a field to its own place', [{ op: 'move', from: '/total', path: '/total' }]],
    ['copies the payload to its own place', [{ op: 'copy', from: '', path: '' }]],
    [
      'adds a field and removes it',
      [
        { op: 'add', path: '/x', value: 1 },
        { op: 'remove', path: '/x' },
      ],
    ],
  ])('B13: that %s is not an edit, so a quarantined letter is not sent unchanged', async (_, patch) => {
    const it = await createWorldAfterOutage(1)
    const [letter] = (await it.store.deadLetters.list()).letters
    await it.store.deadLetters.change(letter!.id, { to: 'quarantined', at: it.clock.now() })
    await expect(it.plan({ patch })).rejects.toThrow(EmptyPlanError)
    expect(await it.plan({ patch, allowQuarantined: true })).toMatchObject({ findings: { replay: 1 } })
  })

  it('B13: that makes a payload too deep to be read back is refused by the plan, and nothing is sent', async () => {
    const it = await createWorldAfterOutage(1)
    const below = (path: string, levels: number) => path + '/a'.repeat(levels)
    const doubled = Array.from({ length: 9 }, (_, n) => {
      const path = below('/a', 2 ** n)
      return { op: 'copy', from: '/a', path } as const
    })
    const patch = [{ op: 'replace', path: '', value: { a: {} } } as const, ...doubled]
    const refused = (await it.plan({ patch }).catch((error: unknown) => error)) as EmptyPlanError
    expect(refused).toBeInstanceOf(EmptyPlanError)
    expect(refused.skipped).toMatchObject([
      {
        decision: 'skip_schema',
        reason: 'the payload with the patch cannot be read back (another level); nest at most 500 deep',
      },
    ])
    expect(await it.plan({ patch: patch.slice(0, -1) })).toMatchObject({ findings: { replay: 1 } })
  })
})

describe('a schema or check that never answers', () => {
  it('K8: does not hold up a plan: the finding says so, and it is asked three times at most', async () => {
    const it = await createWorldAfterOutage(50)
    let asked = 0
    const hung = schemaOf(() => {
      asked++
      return never()
    })
    const planning = planReplay(it.store, request, { ...it.environment, schemaOf: () => hung }).catch(
      (error: unknown) => error as EmptyPlanError,
    )
    await it.clock.advance(15_000)
    const { findings, skipped } = (await planning) as EmptyPlanError
    expect(findings).toEqual({ skip_schema: 50 })
    expect(new Set(skipped.map(({ reason }) => reason))).toEqual(
      new Set(['the schema did not answer within 5 s; find out why its promise does not settle']),
    )
    expect(asked).toBe(3)
  })

  it('K8: a slow answer counts, and a single timeout skips a single letter', async () => {
    const it = await createWorldAfterOutage(5)
    let asked = 0
    const slow = schemaOf(async value => {
      if (++asked === 2) return never()
      await new Promise<void>(resolve => it.clock.schedule(4_999, resolve))
      return { value }
    })
    const planning = planReplay(it.store, request, { ...it.environment, schemaOf: () => slow })
    await it.clock.advance(30_000)
    expect((await planning).findings).toEqual({ replay: 4, skip_schema: 1 })
  })

  it('K8: holds up neither the check of a consumer nor a running replay', async () => {
    const it = await createWorldAfterOutage(2)
    const planning = planReplay(it.store, request, { ...it.environment, downstreamFault: never }).catch(
      (error: unknown) => error as EmptyPlanError,
    )
    await it.clock.advance(15_000)
    expect(await planning).toMatchObject({ findings: { skip_downstream: 2 } })
    it.world.broken = () => false
    const replay = await it.plan()
    await it.start(replay)
    const environment = { ...it.environment, schemaOf: () => schemaOf(never) }
    const ended = runReplay(it.store, replay.id, { target: it.target, environment, owner: 'me' })
    await it.clock.advance(15_000)
    expect(await ended).toMatchObject({ state: 'finished' })
    expect(await it.store.replays.items(replay.id)).toMatchObject([
      { decision: 'skip_schema', status: 'skipped' },
      { decision: 'skip_schema', status: 'skipped' },
    ])
  })
})
