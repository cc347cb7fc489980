import { describe, expect, it } from 'vitest'
import { createWorldAfterOutage } from '../../test/support/outage.ts'
import { recordLateOutcomes } from './outcomes.ts'
import { runReplay } from './runner.ts'

/** The first claim is on its way until `arrive` is called. Its runner has lost the lease by then. */
async function worldWithLateClaim() {
  const it = await createWorldAfterOutage(2)
  it.world.broken = () => false
  const replay = await it.plan({ stages: ['rest'] })
  await it.start(replay)
  const { deadLetters } = it.store
  const { change } = deadLetters
  const arriving = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  let claims = 0
  deadLetters.change = async (...of) => {
    if (of[1].to !== 'replaying' || claims++ > 0) return change.apply(deadLetters, of)
    await arriving.promise
    const changed = await change.apply(deadLetters, of)
    await answer.promise
    return changed
  }
  const first = it.runAs('first', replay)
  await it.clock.advance(30_000)
  const unreachable = {
    send: async () => {},
    routeOf: () => ({ kind: 'none', reason: 'no process has it' }) as const,
  }
  return Object.assign(it, {
    ...{ replay, first, answer },
    /** Runs the replay where no letter can be sent. */
    async runUnreachable() {
      const options = { target: unreachable, environment: it.environment, owner: 'second' }
      const running = runReplay(it.store, replay.id, options)
      await it.clock.advance(1_000)
      return running
    },
    async arrive() {
      arriving.resolve()
      await it.clock.advance(0)
    },
    states: async () => (await deadLetters.stats()).byState,
  })
}

describe('a claim that the store carries out late', () => {
  it('E9: leaves no letter replaying that the next runner has skipped, also after the end of the replay', async () => {
    const it = await worldWithLateClaim()
    const ended = await it.runUnreachable()
    expect(ended.state).toBe('finished')
    await it.arrive()
    expect(await it.states()).toEqual({ dead: 1, replaying: 1 })
    await recordLateOutcomes(it.store, ended, it.clock)
    expect(await it.states()).toEqual({ dead: 2 })
    expect(await it.store.replays.counts(it.replay.id)).toMatchObject({ skipped: 2 })
  })

  it('E9: is not recorded as sent by its runner, which has lost the replay', async () => {
    const it = await worldWithLateClaim()
    await it.runUnreachable()
    // Another run has the replay when the late answer comes.
    await it.store.replays.lease(it.replay.id, 'third', 60_000)
    await it.arrive()
    it.answer.resolve()
    await it.clock.advance(60_000)
    await it.first
    expect(await it.store.replays.counts(it.replay.id)).toMatchObject({ skipped: 2, sent: 0 })
    expect(it.sends).toEqual([])
  })

  it('E9: is looked for only in the hour after the end of the replay, and only where a runner skipped letters', async () => {
    const it = await worldWithLateClaim()
    const ended = await it.runUnreachable()
    await it.arrive()
    const { replays } = it.store
    const { items } = replays
    const asked: unknown[] = []
    replays.items = async (...of) => {
      if (of[1]?.status === 'skipped') asked.push(of)
      return items.apply(replays, of)
    }
    await recordLateOutcomes(it.store, { ...ended, findings: { skip_unreachable: 2 } }, it.clock)
    await it.clock.advance(3_600_000)
    await recordLateOutcomes(it.store, ended, it.clock)
    expect(asked).toEqual([])
  })
})
