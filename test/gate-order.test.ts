import { afterEach, describe, expect, it } from 'vitest'
import { memoryStore } from '../src/adapters/memory/index.ts'
import { createIdSource } from '../src/core/event/uuid.ts'
import type { ReplayDecision } from '../src/ports/replays.ts'
import { consumerGates } from '../src/replay/consumer-gates.ts'
import { startReplay } from '../src/replay/control.ts'
import { planReplay } from '../src/replay/plan.ts'
import type { PlanRequest } from '../src/replay/plan-options.ts'
import { runReplay } from '../src/replay/runner.ts'
import { createConsumer } from '../src/runtime/consumer/consumer.ts'
import { createFactory } from '../src/testing/factories.ts'
import { FakeClock } from '../src/testing/fake-clock.ts'
import { seededRandom } from '../src/testing/seeded-random.ts'
import { createWorldAfterOutage, removeFolders } from './support/cli-replay.ts'
import { serverWorld } from './support/server-world.ts'

const DAY_MS = 86_400_000
const GATES = ['approval', 'schema', 'expiry', 'downstream'] as const
type Gate = (typeof GATES)[number]
const DECISIONS: Readonly<Record<Gate, ReplayDecision>> = {
  approval: 'skip_unapproved',
  schema: 'skip_schema',
  expiry: 'skip_expired',
  downstream: 'skip_downstream',
}

/** Every set of gates that refuse, by the name of the channel whose letter they refuse. */
const CASES = new Map(
  Array.from({ length: 2 ** GATES.length }, (_, bits) => {
    const refusing = GATES.filter((_gate, at) => (bits & (1 << at)) !== 0)
    return [`refused-by${refusing.map(gate => `-${gate}`).join('')}`, new Set<Gate>(refusing)] as const
  }),
)

/** The first gate that refuses decides. */
const EXPECTED = Object.fromEntries(
  Array.from(CASES, ([channel, refusing]) => {
    const first = GATES.find(gate => refusing.has(gate))
    return [channel, first === undefined ? 'replay' : DECISIONS[first]]
  }),
)

/** One letter in each channel. The schema and the breaker are those of the channel's consumer. */
async function world(by: 'a person' | 'a schedule') {
  const clock = new FakeClock(DAY_MS * 365)
  const store = memoryStore({ clock })
  const make = createFactory({ clock })
  const consumers = await Promise.all(
    Array.from(CASES, async ([channel, refusing]) => {
      const issues = [{ message: 'no longer valid' }]
      const validate = (value: unknown) => (refusing.has('schema') ? { issues } : { value })
      const consumer = createConsumer({
        broker: store.broker!,
        channel,
        name: 'bill',
        deadLetters: store.deadLetters,
        schema: { '~standard': { version: 1, vendor: 'test', validate } },
        clock,
        handle: () => {},
      })
      if (refusing.has('downstream')) consumer.breaker!.force('open')
      const isRefused = refusing.has('approval')
      await store.deadLetters.send(
        make.letter({
          channel,
          at: refusing.has('expiry') ? clock.now() - 2 * DAY_MS : clock.now(),
          attempts: [],
          origin: { broker: store.broker!.name },
          reason: isRefused && by === 'a person' ? 'poison' : 'attempts_exhausted',
          autoReplay: !isRefused,
        }),
      )
      return consumer
    }),
  )
  const newId = createIdSource(seededRandom(2))
  const environment = { clock, newId, ...consumerGates(consumers, clock) }
  const decisions = async (replayId: string) => {
    const items = await store.replays.items(replayId)
    const pairs = items.map(async ({ letterId, decision }) => {
      const letter = await store.deadLetters.get(letterId)
      return [letter!.channel, decision] as const
    })
    return Object.fromEntries(await Promise.all(pairs))
  }
  const plan = async (more: Partial<PlanRequest> = {}) =>
    decisions((await planReplay(store, { reason: 'fixed', by: 'ann', ...more }, environment)).id)
  return { clock, store, consumers, environment, decisions, plan }
}

describe('K8, R4: the gates decide in the order approval, schema, expiry, downstream', () => {
  it('R4: in a plan of the library', async () => {
    const { plan } = await world('a person')
    expect(await plan()).toEqual(EXPECTED)
  })

  it('R4: in a plan of automatic replay', async () => {
    const { plan } = await world('a schedule')
    expect(await plan({ isAutomatic: true })).toEqual(EXPECTED)
  })

  it('R4: in a plan over HTTP, with schemas and breakers of the consumers that the server was given', async () => {
    const { clock, store, consumers, decisions } = await world('a person')
    const { tell } = serverWorld({ stores: store, clock, consumers })
    const { status, body } = await tell('/api/v1/replays', { filter: {}, reason: 'fixed' })
    expect(status).toBe(201)
    expect(await decisions(body.id)).toEqual(EXPECTED)
  })

  it('R4: before each send, for letters that have changed since the plan', async () => {
    const clock = new FakeClock(DAY_MS * 365)
    const store = memoryStore({ clock })
    const make = createFactory({ clock })
    let isStrict = false
    const issues = [{ message: 'no longer valid' }]
    const validate = (value: unknown) => (isStrict && value !== 'valid' ? { issues } : { value })
    const schema = { '~standard': { version: 1 as const, vendor: 'test', validate } }
    const environment = { clock, newId: createIdSource(seededRandom(2)), schemaOf: () => schema }
    const letters = ['refused', 'old', 'valid'].map(payload =>
      make.letter({ event: make.event({ payload }) }),
    )
    for (const letter of letters) await store.deadLetters.send(letter)
    const { id } = await planReplay(store, { reason: 'fixed', by: 'ann' }, environment)
    await store.deadLetters.change(letters[0]!.id, { to: 'quarantined', at: clock.now() })
    isStrict = true
    await clock.advance(2 * DAY_MS)
    await startReplay(store, id, { by: 'ann', clock })
    const target = { send: () => Promise.reject(new Error('nothing may be sent')) }
    const running = runReplay(store, id, { target, environment, owner: 'test' })
    await clock.advance(10_000)
    expect(await running).toMatchObject({ state: 'finished' })
    const items = await store.replays.items(id)
    const decisionOf = new Map(items.map(({ letterId, decision }) => [letterId, decision]))
    expect(letters.map(({ id: letterId }) => decisionOf.get(letterId))).toEqual([
      'skip_unapproved',
      'skip_schema',
      'skip_expired',
    ])
  })

  afterEach(removeFolders)
  it('R4: in a plan of the command line, which knows neither schemas nor breakers', async () => {
    const { lazaret, store, clock, bury, factory } = await createWorldAfterOutage(2)
    const { letters } = await store.deadLetters.list()
    await store.deadLetters.change(letters[0]!.id, { to: 'quarantined', at: clock.now() })
    await clock.advance(2 * DAY_MS)
    await bury(factory.letter({ origin: { broker: store.broker!.name } }))
    const { json } = await lazaret('replay', 'plan', '--reason', 'fixed', '--json')
    expect(json[0]).toMatchObject({ findings: { skip_unapproved: 1, skip_expired: 1, replay: 1 } })
  })
})
