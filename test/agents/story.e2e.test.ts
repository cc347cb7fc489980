import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSqlite } from '../../src/adapters/sqlite/index.ts'
import { systemClock } from '../../src/ports/clock.ts'
import type { Store } from '../../src/ports/store.ts'
import { type Consumer, createConsumer } from '../../src/runtime/consumer/consumer.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { agentWithProcess } from '../support/agent-client.ts'
import { runScript } from '../support/lazaret-process.ts'

const LETTERS = 500
/** The database refuses connections: the outage. Two other causes were there before. */
const OUTAGE = 420

let folder: string
let store: Store
let consumer: Consumer
let isDatabaseBack = false
let onAllLetters = () => {}
let dead = 0
const handled = new Set<unknown>()

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lazaret-story-'))
  await writeFile(
    join(folder, 'lazaret.yaml'),
    'store: sqlite:./letters.db\nagents: { rateLimit: { perSecond: 1000 } }\n',
  )
  store = openSqlite({ path: join(folder, 'letters.db'), clock: systemClock })
  const allDead = new Promise<void>(resolve => {
    onAllLetters = resolve
  })
  consumer = createConsumer({
    broker: store.broker!,
    channel: 'orders',
    name: 'bill',
    deadLetters: store.deadLetters,
    clock: systemClock,
    retry: { attempts: 1 },
    breaker: 'off',
    poison: 'off',
    concurrency: 50,
    async handle({ payload }) {
      const { number } = payload as { number: number }
      if (number >= OUTAGE + 50) throw new TypeError('amount is not a number')
      if (number >= OUTAGE) throw new RangeError('the invoice is closed')
      if (!isDatabaseBack) throw new Error('connect ECONNREFUSED 10.0.0.7:5432')
      handled.add(number)
    },
    observer: {
      letterSaved() {
        if (++dead === LETTERS) onAllLetters()
      },
    },
  })
  await consumer.start()
  const make = createFactory({ clock: systemClock })
  await store.broker!.publish(
    Array.from({ length: LETTERS }, (_, number) => make.event({ payload: { number } })),
  )
  await allDead
})

afterAll(async () => {
  await consumer.close()
  await store.close()
  await rm(folder, { recursive: true })
})

describe('S10: an outage, told through tools alone', () => {
  it('500 letters in 3 groups: cause, plan, approval by a person, replay, outcome, note', async () => {
    const agent = await agentWithProcess(['--allow', 'replay,triage'], folder)
    const call = async (tool: string, input?: Readonly<Record<string, unknown>>) => {
      const answer = await agent.call(tool, input)
      expect(answer.isError, `${tool}: ${answer.texts.join('\n')}`).toBe(false)
      return answer
    }
    // What broke?
    const overview = await call('get_overview')
    expect(overview.said).toBe('500 letters waiting in 3 open groups. 0 breakers open, 0 alerts.')
    const { groups } = (await call('list_groups', { channel: 'orders' })).data
    expect(groups).toHaveLength(3)
    const outage = groups.find(({ count }: { count: number }) => count === OUTAGE)
    expect(outage.untrusted.title).toContain('ECONNREFUSED')
    const { sampleLetterId } = (await call('get_group', { id: outage.id })).data
    const letter = (await call('get_dlq_event_detail', { id: sampleLetterId })).data
    expect(letter.untrusted.failure.message).toContain('ECONNREFUSED')

    // The database is back. The plan waits for a person, and the agent cannot start it.
    isDatabaseBack = true
    const plan = {
      filter: { group: outage.id },
      reason: 'the database is back',
      stages: [1, 'rest'],
      perSecond: 5_000,
    }
    const planned = await call('plan_replay', plan)
    expect(planned.data.findings).toEqual({ replay: OUTAGE })
    const { id } = planned.data
    const early = await call('start_replay', { id })
    expect(early.said).toContain(`lazaret replay approve ${id}`)
    expect(early.data.state).toBe('planned')
    expect(handled.size).toBe(0)

    const approved = await runScript(`lazaret replay approve ${id} --note 'looks right'`, folder, {
      USER: 'bea',
    })
    expect(approved.code, approved.err).toBe(0)

    // Now it starts, and the agent watches it.
    expect((await call('start_replay', { id })).data.nextStep).toBe('watch')
    let shown = (await call('get_replay', { id })).data
    while (shown.state === 'running') shown = (await call('get_replay', { id })).data
    expect(shown.state).toBe('finished')
    expect(shown.counts).toMatchObject({ recovered: OUTAGE, failed_same_cause: 0, failed_new_cause: 0 })
    expect(handled.size).toBe(OUTAGE)

    const note = `Replay ${id} recovered ${OUTAGE} letters.`
    const noted = await call('update_group', { id: outage.id, state: 'resolved', note })
    expect(noted.data).toMatchObject({ state: 'resolved', recovered: OUTAGE, waiting: 0 })

    // The audit says who did what.
    const { entries } = (await call('search_audit', { target: id })).data
    const steps = entries.map(
      (each: { action: string; untrusted: { by: string } }) => `${each.untrusted.by}: ${each.action}`,
    )
    expect(steps.filter((step: string) => /plan|approve|start/.test(step)).reverse()).toEqual([
      'agent:tester for ann: replay.plan',
      'bea: replay.approve',
      'agent:tester for ann: replay.start',
    ])
    await agent.close()
    expect(agent.stderr()).not.toContain('lazaret:')
  })
})
