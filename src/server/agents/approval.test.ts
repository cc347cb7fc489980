import { describe, expect, it } from 'vitest'
import { agentOn } from '../../../test/support/agent-client.ts'
import { PEOPLE, secretOf, serverWorld } from '../../../test/support/server-world.ts'
import { memoryStore } from '../../adapters/memory/index.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import type { Store } from '../../ports/store.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import type { ServerOptions } from '../options.ts'

const HOUR_MS = 3_600_000
const RULE = { channel: 'orders', maxLetters: 3, maxAgeMs: HOUR_MS }

async function world(options: Partial<ServerOptions> = {}) {
  const base = serverWorld({
    tokens: PEOPLE,
    agents: { allow: ['replay'], withoutApproval: [RULE] },
    ...options,
  })
  const agent = await agentOn(base.server, { token: 'ola' })
  const replayOf = async (...ids: readonly string[]) => {
    const planned = await agent.call('plan_replay', { ids, reason: 'the database is back' })
    return (await agent.call('start_replay', { id: planned.data.id })).data
  }
  const idsOf = async (...letters: readonly DeadLetter[]) =>
    (await base.bury(...letters)).map(({ id }) => id).slice(0, letters.length)
  return { ...base, agent, replayOf, idsOf }
}

describe('S10: a person approves what an agent starts', () => {
  it('unless the config lifts that for a bounded case, and then the audit log says by which rule', async () => {
    const { agent, idsOf, make, audited } = await world()
    const [id] = await idsOf(make.letter())
    const { data } = await agent.call('replay_dlq_event', { id, reason: 'the database is back' })
    expect(data).toMatchObject({ state: 'running', nextStep: 'watch' })
    expect((await audited()).slice(0, 3)).toEqual([
      `agent:tester for ola replay.start ${data.id}`,
      `(config: agents.withoutApproval) replay.approve ${data.id}`,
      `agent:tester for ola replay.plan ${data.id}`,
    ])
  })

  it('a letter of another channel, an old letter and too many letters wait', async () => {
    const { replayOf, idsOf, make, clock } = await world()
    const [other] = await idsOf(make.letter({ channel: 'payments' }))
    expect((await replayOf(other!)).nextStep).toBe('wait_for_approval')
    const [old] = await idsOf(make.letter())
    await clock.advance(HOUR_MS + 1)
    expect((await replayOf(old!)).nextStep).toBe('wait_for_approval')
    const many = await idsOf(...Array.from({ length: 4 }, () => make.letter()))
    expect((await replayOf(...many)).nextStep).toBe('wait_for_approval')
  })

  it('the number of letters counts over an hour, not for each replay', async () => {
    const { replayOf, idsOf, make, clock } = await world()
    const ids = await idsOf(...Array.from({ length: 4 }, () => make.letter()))
    expect((await replayOf(ids[0]!, ids[1]!)).nextStep).toBe('watch')
    expect((await replayOf(ids[2]!)).nextStep).toBe('watch')
    expect((await replayOf(ids[3]!)).nextStep).toBe('wait_for_approval')
    await clock.advance(HOUR_MS)
    const [young] = await idsOf(make.letter())
    expect((await replayOf(young!)).nextStep).toBe('watch')
  })

  it('calls at the same moment stay within the number of letters together', async () => {
    const { agent, idsOf, make } = await world()
    const ids = await idsOf(...Array.from({ length: 8 }, () => make.letter()))
    const started = await Promise.all(ids.map(id => agent.call('replay_dlq_event', { id, reason: 'x' })))
    expect(started.map(({ data }) => data.nextStep).toSorted()).toEqual([
      ...Array.from({ length: 5 }, () => 'wait_for_approval'),
      ...Array.from({ length: 3 }, () => 'watch'),
    ])
  })

  it('a letter that failed again in a replay is as old as its first failure', async () => {
    const { replayOf, bury, make, store, clock } = await world()
    const [letter] = await bury(make.letter())
    await clock.advance(HOUR_MS + 1)
    const again = {
      ...letter!.cycle,
      number: 1,
      replayId: 'r0',
      firstFailedAt: clock.now(),
      lastFailedAt: clock.now(),
    }
    await store.deadLetters.send({ ...letter!, cycle: again, endedCycles: [letter!.cycle], replays: 1 })
    expect((await store.deadLetters.get(letter!.id))!.cycle.firstFailedAt).toBe(clock.now())
    expect((await replayOf(letter!.id)).nextStep).toBe('wait_for_approval')
  })

  it('plans that were made in advance wait for a person', async () => {
    const { agent, idsOf, make, clock } = await world({
      agents: { allow: ['replay'], withoutApproval: [{ ...RULE, maxAgeMs: 6 * HOUR_MS }] },
    })
    const [id] = await idsOf(make.letter())
    const planned = await agent.call('plan_replay', { ids: [id], reason: 'x' })
    await clock.advance(HOUR_MS + 1)
    const { data } = await agent.call('start_replay', { id: planned.data.id })
    expect(data.nextStep).toBe('wait_for_approval')
  })

  it('the replays of all stores of the server count together, and those of another server that is counting wait', async () => {
    const clock = new FakeClock()
    const stores = { one: memoryStore({ clock }), two: memoryStore({ clock }) }
    const { agent, make } = await world({ stores, clock })
    const replayIn = async (store: Store) => {
      const letters = [make.letter(), make.letter()]
      for (const letter of letters) await store.deadLetters.send(letter)
      const ids = letters.map(({ id }) => id)
      const { data } = await agent.call('plan_replay', { ids, reason: 'x' })
      return async () => (await agent.call('start_replay', { id: data.id })).data.nextStep
    }
    const [first, second] = [await replayIn(stores.one), await replayIn(stores.two)]
    const busy = await stores.one.ledger!.claim('lazaret-agents', 'approval', 10_000)
    expect(await first()).toBe('wait_for_approval')
    await stores.one.ledger!.release('lazaret-agents', 'approval', (busy as { token: string }).token)
    expect(await first()).toBe('watch')
    expect(await second()).toBe('wait_for_approval')
  })

  it('a server that requires a second person asks for one', async () => {
    const { replayOf, idsOf, make } = await world({ needsApproval: true })
    const [id] = await idsOf(make.letter())
    expect((await replayOf(id!)).nextStep).toBe('wait_for_approval')
  })

  it('a person approves in the console, and then the agent starts the replay', async () => {
    const { agent, idsOf, make, tell } = await world({ agents: { allow: ['replay'] } })
    const [id] = await idsOf(make.letter())
    const { data } = await agent.call('replay_dlq_event', { id, reason: 'the database is back' })
    expect(data.nextStep).toBe('wait_for_approval')
    await tell(`/api/v1/replays/${data.id}/approve`, {}, { token: secretOf('ada') })
    expect((await agent.call('get_replay', { id: data.id })).data.nextStep).toBe('start_replay')
    expect((await agent.call('start_replay', { id: data.id })).data.nextStep).toBe('watch')
  })

  it('the token of the agent cannot approve the plan through the API', async () => {
    const { agent, idsOf, make, tell } = await world({ agents: { allow: ['replay'] } })
    const [id] = await idsOf(make.letter())
    const { data } = await agent.call('replay_dlq_event', { id, reason: 'the database is back' })
    const approved = await tell(`/api/v1/replays/${data.id}/approve`, {}, { token: secretOf('ola') })
    expect(approved).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('another token') },
    })
    expect((await agent.call('get_replay', { id: data.id })).data.nextStep).toBe('wait_for_approval')
  })

  it('without tokens everyone has one name, so the person at the console can approve', async () => {
    const { server, bury, make, tell } = serverWorld({ agents: { allow: ['replay'] } })
    const [letter] = await bury(make.letter())
    const agent = await agentOn(server)
    const { data } = await agent.call('replay_dlq_event', { id: letter!.id, reason: 'x' })
    expect((await tell(`/api/v1/replays/${data.id}/approve`, {})).status).toBe(200)
  })

  it('a plan of a person that nobody approved is not for the agent to start', async () => {
    const { agent, idsOf, make, tell } = await world()
    const [id] = await idsOf(make.letter())
    const planned = await tell('/api/v1/replays', { ids: [id], reason: 'x' }, { token: secretOf('ada') })
    const refused = await agent.call('start_replay', { id: planned.body.id })
    expect(refused).toMatchObject({ isError: true })
    expect(refused.said).toContain('a person has to start it')
  })

  it('the agent can neither plan without approval, nor change payloads, nor choose another channel', async () => {
    const { agent, idsOf, make } = await world()
    const [id] = await idsOf(make.letter())
    for (const more of [
      { needsApproval: false },
      { to: 'payments' },
      { patch: [{ op: 'replace', path: '/amount', value: 1 }] },
      { allowQuarantined: true },
    ])
      expect((await agent.call('plan_replay', { ids: [id], reason: 'x', ...more })).isError).toBe(true)
  })
})
