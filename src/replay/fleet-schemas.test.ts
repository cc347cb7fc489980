import { describe, expect, it } from 'vitest'
import { memoryBroker, memoryStore } from '../adapters/memory/index.ts'
import { createIdSource } from '../core/event/uuid.ts'
import type { StandardSchema } from '../ports/schema.ts'
import { createConsumer } from '../runtime/consumer/consumer.ts'
import { type FleetOptions, joinFleet } from '../runtime/fleet/join-fleet.ts'
import { createFactory } from '../testing/factories.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { seededRandom } from '../testing/seeded-random.ts'
import { replayAutomatically } from './automatic.ts'
import { EmptyPlanError } from './empty-plan.ts'
import { planReplay } from './plan.ts'
import type { PlanRequest } from './plan-options.ts'

const HOUR_MS = 3_600_000
const amounts = schemaOf(value => {
  const { amount } = value as { amount: unknown }
  return typeof amount === 'number' ? { value } : { issues: [{ message: `amount is ${amount}` }] }
})

function schemaOf(validate: StandardSchema['~standard']['validate']): StandardSchema {
  return { '~standard': { version: 1, vendor: 'test', validate } }
}

/** A store that services share, and a process of its own that plans replays in it. */
function world() {
  const clock = new FakeClock()
  const random = seededRandom(5)
  const store = memoryStore({ clock })
  const make = createFactory({ clock })
  const environment = { clock, newId: createIdSource(random) }
  const commands = store.commands!
  const { send } = commands
  /** The commands that were sent. */
  const sent: { readonly kind: string; readonly recipients: readonly string[]; readonly letters: number }[] =
    []
  commands.send = async (all, ttlMs) => {
    for (const { task, recipients } of all)
      sent.push({ kind: task.kind, recipients, letters: (task['letters'] as readonly string[]).length })
    return send.call(commands, all, ttlMs)
  }
  const until = async <T>(work: Promise<T>, stepMs = 50): Promise<T> => {
    let isOver = false
    const end = () => {
      isOver = true
    }
    void work.then(end, end)
    for (let n = 0; !isOver && n < 10_000; n++) await clock.advance(stepMs)
    return work
  }
  return {
    ...{ clock, store, make, environment, sent, until },
    /** A process with a consumer of `orders`. */
    async join(
      service: string,
      {
        schema,
        handler = 'bill',
        ...more
      }: { schema?: StandardSchema; handler?: string } & Partial<FleetOptions> = {},
    ) {
      const consumer = createConsumer({
        ...{ broker: memoryBroker({ clock }), channel: 'orders', name: handler, clock },
        ...{ deadLetters: store.deadLetters, leaveOpen: true, handle: () => {} },
        ...(schema !== undefined && { schema }),
      })
      const member = joinFleet({ store, service, consumers: [consumer], clock, random, ...more })
      await clock.advance(1)
      return member
    },
    async bury(payload: object, more: Parameters<typeof make.letter>[0] = {}) {
      const letter = make.letter({
        ...{ channel: 'orders', handler: 'bill', origin: { broker: 'rabbitmq' } },
        event: make.event({ channel: 'orders', payload: payload as { amount: number } }),
        ...more,
      })
      await store.deadLetters.send(letter)
      return letter.id
    },
    plan: (request: Partial<PlanRequest> = {}) =>
      until(planReplay(store, { reason: 'fixed', by: 'ann', ...request }, environment)),
    refusal: async (planning: Promise<unknown>) => {
      const error = await planning.catch((caught: unknown) => caught)
      expect(error).toBeInstanceOf(EmptyPlanError)
      return error as EmptyPlanError
    },
  }
}

const schemaChecks = (replay: { checks?: readonly { gate: string }[] | undefined }) =>
  replay.checks?.filter(({ gate }) => gate === 'schema')

describe('a plan in a process without the consumer', () => {
  it('K8, B18: has the answers of a living consumer, and says whose word that is and how old', async () => {
    const { clock, store, join, bury, plan } = world()
    const { id } = await join('shop', { schema: amounts, version: '2.4.1' })
    await bury({ amount: 1 })
    const bad = await bury({ amount: 'x' })
    await bury({ amount: 2 })
    const replay = await plan()
    expect(replay.findings).toEqual({ replay: 2, skip_schema: 1 })
    const skipped = await store.replays.items(replay.id, { status: 'skipped' })
    expect(skipped).toMatchObject([{ letterId: bad, decision: 'skip_schema', reason: 'amount is x' }])
    expect(schemaChecks(replay)).toEqual([
      {
        ...{ gate: 'schema', channel: 'orders', handler: 'bill', letters: 3 },
        answer: {
          ...{ answeredBy: 'fleet', count: 1, saidAt: expect.any(Number) },
          processes: [{ id, service: 'shop', version: '2.4.1' }],
        },
      },
    ])
    const [{ answer }] = schemaChecks(replay) as unknown as [{ answer: { saidAt: number } }]
    expect(clock.now() - answer.saidAt).toBeLessThan(1_000)
    expect((await store.replays.get(replay.id))?.checks).toEqual(replay.checks)
  })

  it('K8: asks only processes whose consumer has a schema, for 500 letters at a time', async () => {
    const { join, bury, plan, sent } = world()
    await join('old')
    const { id } = await join('new', { schema: amounts })
    for (let n = 0; n < 1_201; n++) await bury({ amount: n % 3 === 0 ? 'x' : n })
    const replay = await plan()
    expect(replay.findings).toEqual({ replay: 800, skip_schema: 401 })
    expect(sent).toEqual([500, 500, 201].map(letters => ({ kind: 'validate', recipients: [id], letters })))
    expect(schemaChecks(replay)).toMatchObject([{ letters: 1_201, answer: { count: 1 } }])
  })

  it('K8: a patch is applied first, and each handler of another channel must accept the event', async () => {
    const { join, bury, plan, refusal } = world()
    await join('shop', { schema: amounts })
    const patch = [{ op: 'replace', path: '/amount', value: 7 }] as const
    await bury({ amount: 'x' })
    expect((await plan({ patch })).findings).toEqual({ replay: 1 })
    await bury({ amount: 1 }, { channel: 'old-orders', handler: 'other' })
    const redirected = { filter: { channel: 'old-orders' }, to: 'orders' }
    expect((await plan(redirected)).findings).toEqual({ replay: 1 })
    await join('the-mailer', {
      handler: 'mail',
      schema: schemaOf(() => ({ issues: [{ message: 'no address' }] })),
    })
    const { findings, skipped } = await refusal(plan(redirected))
    expect([findings, skipped[0]?.reason]).toEqual([{ skip_schema: 1 }, 'no address'])
  })

  it('K8: the schema comes after the state and before the age, and asks nothing about letters that are out', async () => {
    const { store, clock, join, bury, refusal, plan, sent } = world()
    await join('shop', { schema: amounts })
    await bury({ amount: 'x' })
    const parked = await bury({ amount: 'x' })
    await store.deadLetters.change(parked, { to: 'parked', at: clock.now() })
    const { findings } = await refusal(plan({ maxAgeMs: 1 }))
    expect(findings).toEqual({ skip_schema: 1, skip_state: 1 })
    expect(sent).toMatchObject([{ letters: 1 }])
  })

  it('K8: a schema that throws or does not answer skips the letter, as it does in the planning process', async () => {
    const { join, bury, refusal, plan } = world()
    await join('shop', { schema: schemaOf(() => Promise.reject(new Error('no dictionary'))) })
    await bury({ amount: 1 })
    const { findings, skipped, checks } = await refusal(plan())
    expect([findings, skipped[0]?.reason]).toEqual([{ skip_schema: 1 }, 'no dictionary'])
    expect(checks).toMatchObject([{ answer: { answeredBy: 'fleet' } }])
  })

  it('K8: a schema of the planning process has the word', async () => {
    const { store, environment, join, bury, until, sent } = world()
    await join('shop', { schema: amounts })
    await bury({ amount: 'x' })
    const own = { ...environment, schemaOf: () => schemaOf(value => ({ value })) }
    const replay = await until(planReplay(store, { reason: 'r', by: 'ann' }, own))
    expect(replay.findings).toEqual({ replay: 1 })
    expect(schemaChecks(replay)).toMatchObject([{ letters: 1, answer: { answeredBy: 'planner' } }])
    expect(sent).toEqual([])
  })

  it('E17: letters of sinks have no schema, and nobody is asked', async () => {
    const { join, bury, plan, sent } = world()
    await join('shop', { schema: amounts })
    await bury({ amount: 'x' }, { handler: 'crm', origin: {} })
    const replay = await plan({ requireSchema: true })
    expect([replay.findings, schemaChecks(replay), sent]).toEqual([{ replay: 1 }, [], []])
  })
})

describe('a plan without an answer', () => {
  type World = ReturnType<typeof world>
  it.each<[string, (it: World) => Promise<unknown>, RegExp]>([
    ['nobody lives', async () => {}, /^no living process in the fleet consumes orders\/bill$/],
    [
      'the process is gone',
      async ({ join, store, clock }) => {
        const { id } = await join('shop', { schema: amounts })
        store.fleet!.report = async () => {}
        store.commands!.claim = async () => []
        await clock.advance(20_000)
        return id
      },
      /^no living process in the fleet consumes orders\/bill$/,
    ],
    ['the consumer has no schema', ({ join }) => join('shop'), /^its consumer has no schema$/],
    [
      'the process does not look for commands',
      ({ join, store }) => {
        store.commands!.claim = () => new Promise(() => {})
        return join('shop', { schema: amounts })
      },
      /^no living process took the question within 7 s$/,
    ],
    [
      'the process takes the question and does not answer',
      ({ join, store }) => {
        store.commands!.finish = () => new Promise(() => {})
        return join('shop', { schema: amounts })
      },
      /^the process \S+ of shop did not answer within 18 s$/,
    ],
    [
      'the process cannot check letters',
      ({ join, store: { fleet, commands } }) => join('shop', { schema: amounts, store: { fleet, commands } }),
      /^the process \S+ of shop could not check it: this process joined the fleet with a store that has no dead letters$/,
    ],
    [
      'the store cannot list the fleet',
      async ({ store }) => {
        store.fleet!.list = () => Promise.reject(new Error('away'))
      },
      /^the fleet of the store cannot be read$/,
    ],
  ])('K8: when %s, the letters are not checked, and the plan says why', async (_, prepare, reason) => {
    const it = world()
    await it.bury({ amount: 'x' })
    await prepare(it)
    const replay = await it.plan()
    expect(replay.findings).toEqual({ replay: 1 })
    const answer = { answeredBy: 'nobody', reason: expect.stringMatching(reason) }
    expect(schemaChecks(replay)).toEqual([
      { gate: 'schema', channel: 'orders', handler: 'bill', letters: 1, answer },
    ])
    // A person who demands the check gets no letter through.
    const { findings, skipped, checks } = await it.refusal(it.plan({ requireSchema: true }))
    expect(findings).toEqual({ skip_schema: 1 })
    expect(skipped[0]?.reason).toMatch(new RegExp(`^unknown: ${reason.source.slice(1)}`))
    expect(checks).toMatchObject([{ gate: 'schema', answer }])
  })

  it('K8: the next process is asked when the first one takes the question and does not answer', async () => {
    const { store, join, bury, plan } = world()
    const commands = store.commands!
    const { finish } = commands
    let first: string | undefined
    commands.finish = (id, instance, outcome) => {
      first ??= instance
      return instance === first ? new Promise(() => {}) : finish.call(commands, id, instance, outcome)
    }
    const both = [await join('shop', { schema: amounts }), await join('shop', { schema: amounts })]
    await bury({ amount: 1 })
    await bury({ amount: 'x' })
    const replay = await plan()
    expect(replay.findings).toEqual({ replay: 1, skip_schema: 1 })
    const next = both.find(({ id }) => id !== first)!.id
    expect(schemaChecks(replay)).toMatchObject([{ letters: 2, answer: { processes: [{ id: next }] } }])
  })

  it('K8: a clock that is set back does not keep a plan waiting for a silent consumer', async () => {
    const { clock, store, join, bury, plan } = world()
    const commands = store.commands!
    const { get } = commands
    let hasJumped = false
    commands.finish = () => new Promise(() => {})
    commands.get = async id => {
      if (!hasJumped) clock.jump(-HOUR_MS)
      hasJumped = true
      return get.call(commands, id)
    }
    await join('shop', { schema: amounts })
    await bury({ amount: 1 })
    const startedAt = clock.monotonic()
    expect((await plan()).findings).toEqual({ replay: 1 })
    expect(clock.monotonic() - startedAt).toBeLessThan(60_000)
  })

  it('K8: a plan of many letters waits for a silent consumer once', async () => {
    const { clock, store, join, bury, plan, sent } = world()
    store.commands!.claim = () => new Promise(() => {})
    await join('shop', { schema: amounts })
    for (let n = 0; n < 1_100; n++) await bury({ amount: 1 })
    const startedAt = clock.now()
    expect((await plan()).findings).toEqual({ replay: 1_100 })
    expect(sent).toHaveLength(1)
    expect(clock.now() - startedAt).toBeLessThan(8_000)
  })
})

it('E19: letters that a living consumer refuses do not fill the batch of automatic replay', async () => {
  const { clock, store, environment, join, bury, until } = world()
  await join('shop', { schema: amounts })
  const letter = { autoReplay: true }
  const good = await bury({ amount: 1 }, letter)
  await clock.advance(1_000)
  for (let n = 0; n < 7; n++) await bury({ amount: 'x' }, letter)
  const sent: string[] = []
  const schedule = replayAutomatically({
    ...{ store, environment, cron: '0 * * * *', batchSize: 2, maxAgeMs: 24 * HOUR_MS, owner: 'me' },
    target: {
      send: async events => {
        sent.push(...events.map(({ id }) => id))
        for (const { id } of events)
          for (const each of (await store.deadLetters.list()).letters)
            if (each.event.id === id)
              await store.deadLetters.change(each.id, { to: 'resolved', at: clock.now() })
      },
    },
  })
  for (let n = 0; n < 130 && sent.length === 0; n++) await clock.advance(60_000)
  const event = (await store.deadLetters.get(good))?.event.id
  expect(sent).toEqual([event])
  await until(schedule.close())
})
