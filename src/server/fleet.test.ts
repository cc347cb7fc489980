import { hostname } from 'node:os'
import process from 'node:process'
import { describe, expect, it } from 'vitest'
import { PEOPLE, secretOf, serverWorld } from '../../test/support/server-world.ts'
import { memoryBroker, memoryDeadLetters, memorySink, memoryStore } from '../adapters/memory/index.ts'
import type { Consumer } from '../runtime/consumer/consumer.ts'
import { createConsumer } from '../runtime/consumer/consumer.ts'
import { createDispatcher } from '../runtime/dispatcher/dispatcher.ts'
import { type FleetMembership, joinFleet } from '../runtime/fleet/join-fleet.ts'
import { TASK_KINDS } from '../runtime/fleet/tasks.ts'

/** A server, and processes of a service that it does not run in. */
async function fleetWorld(instances = 2, options: Parameters<typeof serverWorld>[0] = {}) {
  const world = serverWorld(options)
  const { clock, store } = world
  const members: FleetMembership[] = []
  const consumers: Consumer[] = []
  for (let n = 0; n < instances; n++) {
    const consumer = createConsumer({
      broker: memoryBroker({ clock }),
      channel: 'orders',
      name: 'bill',
      deadLetters: memoryDeadLetters(),
      clock,
      schema: {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: value => {
            const { amount, password } = value as { amount: unknown; password: string }
            return typeof amount === 'number'
              ? { value }
              : { issues: [{ message: `amount of ${password} is ${amount}` }] }
          },
        },
      },
      handle: () => {},
    })
    await consumer.start()
    consumers.push(consumer)
    members.push(joinFleet({ store, service: 'shop', version: `1.${n}`, consumers: [consumer], clock }))
    await clock.advance(10)
  }
  const paused = () => consumers.map(consumer => consumer.health().paused.length)
  return { ...world, members, consumers, paused }
}

const PAUSE = { task: 'pause', channel: 'orders', reason: 'a release' }

describe('the fleet over HTTP', () => {
  it('B17: lists the processes of other services, and shows a process that is gone', async () => {
    const { ask, clock, members, consumers } = await fleetWorld()
    const { body } = await ask('/api/v1/fleet')
    expect(body.instances).toMatchObject([
      { id: members[0]!.id, store: 'main', service: 'shop', version: '1.0', state: 'alive' },
      { id: members[1]!.id, service: 'shop', version: '1.1', state: 'alive' },
    ])
    expect(body.instances[0].consumers).toMatchObject([
      { channel: 'orders', handler: 'bill', broker: 'memory', breaker: 'closed', paused: [] },
    ])
    await members[0]!.close()
    await consumers[0]!.close()
    await clock.advance(60_000)
    expect((await ask('/api/v1/fleet')).body.instances).toMatchObject([{ state: 'left' }, { state: 'alive' }])
    expect((await ask(`/api/v1/fleet/${members[1]!.id}`)).body).toMatchObject({ version: '1.1' })
    expect((await ask('/api/v1/fleet/nobody')).status).toBe(404)
  })

  it('B17: lists 1 000 processes page by page, and a page stays small', async () => {
    const { ask, store, clock } = serverWorld()
    const { fleet } = store
    const [consumer] = (await (await fleetWorld(1)).store.fleet!.list())[0]!.report.consumers
    for (let pid = 0; pid < 1_000; pid++)
      await fleet!.report(
        {
          ...{ v: 1, id: `p${pid}`, service: `s${pid % 3}`, host: 'web', pid, startedAt: clock.now() + pid },
          ...{ consumers: [consumer!], sinks: [] },
        },
        60_000,
      )
    const read: string[] = []
    let cursor = ''
    do {
      const { body, text } = await ask(`/api/v1/fleet?limit=300${cursor}`)
      expect(text.length).toBeLessThan(300 * 750)
      read.push(...body.instances.map(({ id }: { id: string }) => id))
      cursor = body.cursor === undefined ? '' : `&cursor=${encodeURIComponent(body.cursor)}`
    } while (cursor !== '')
    expect(read).toEqual((await fleet!.list()).map(({ report }) => report.id))
    const first = await ask('/api/v1/fleet')
    expect(first.body.instances).toHaveLength(50)
    const services = await ask('/api/v1/fleet/services')
    expect(services.text.length).toBeLessThan(3_000)
    expect(services.body.services).toMatchObject([
      { name: 's0', alive: 334, consumers: [{ channel: 'orders', processes: 334 }] },
      { name: 's1', alive: 333 },
      { name: 's2', alive: 333 },
    ])
  })

  it('B17: lists the processes of a service, of a state and of a store, and services page by page', async () => {
    const { ask, clock, members, store } = await fleetWorld()
    joinFleet({ store, service: 'mailer', clock })
    await members[0]!.close()
    await clock.advance(3_000)
    const ids = async (query: string) => {
      const { status, body } = await ask(`/api/v1/fleet?${query}`)
      return status === 200 ? body.instances.map(({ id }: { id: string }) => id) : status
    }
    expect(await ids('service=shop')).toEqual(members.map(({ id }) => id))
    expect(await ids('service=shop&state=alive')).toEqual([members[1]!.id])
    expect(await ids('state=left&store=main')).toEqual([members[0]!.id])
    expect([await ids('store=other'), await ids('state=dead')]).toEqual([404, 400])
    const first = await ask('/api/v1/fleet/services?limit=1')
    expect(first.body.services).toMatchObject([{ name: 'mailer', alive: 1 }])
    const rest = await ask(`/api/v1/fleet/services?limit=1&cursor=${encodeURIComponent(first.body.cursor)}`)
    expect(rest.body).toMatchObject({ services: [{ name: 'shop', alive: 1, left: 1 }] })
    expect(rest.body.cursor).toBeUndefined()
  })

  it('B17: a store that does not answer is a fault of the list, and the others are shown', async () => {
    const { store, clock } = await fleetWorld(1)
    const away = memoryStore({ clock })
    away.fleet!.list = () => Promise.reject(new Error('the store is away'))
    const { ask } = serverWorld({ stores: { near: store, away }, clock })
    for (const path of ['/api/v1/fleet', '/api/v1/fleet/services'])
      expect((await ask(path)).body).toMatchObject({
        faults: [{ store: 'away', problem: 'the store is away' }],
      })
    expect((await ask('/api/v1/fleet')).body.instances).toHaveLength(1)
    expect((await ask('/api/v1/fleet?store=near')).body.faults).toBeUndefined()
  })

  it('B17: a command reaches every process that has the channel, and its outcome can be read', async () => {
    const { ask, tell, clock, members, paused, audited } = await fleetWorld()
    const sent = await tell('/api/v1/fleet/commands', PAUSE)
    expect(sent.body.requests).toMatchObject([{ task: { kind: 'pause', channel: 'orders' }, by: 'local' }])
    const { id } = sent.body.requests[0]
    await clock.advance(6_000)
    expect(paused()).toEqual([1, 1])
    expect((await ask(`/api/v1/fleet/commands/${id}`)).body).toMatchObject({
      id,
      reason: 'a release',
      commands: members.map(({ id: instance }) => ({
        instance,
        host: hostname(),
        pid: process.pid,
        state: 'done',
        result: { handlers: ['bill'] },
      })),
    })
    expect((await ask('/api/v1/fleet')).body.instances[0].consumers[0].paused).toEqual(['manual'])
    expect(await audited()).toEqual(['local fleet.pause orders'])
    expect((await ask('/api/v1/fleet/commands/nothing')).status).toBe(404)
  })

  it('B17: a command can be for one process alone', async () => {
    const { tell, clock, members, paused } = await fleetWorld()
    await tell('/api/v1/fleet/commands', { ...PAUSE, instance: members[1]!.id })
    await clock.advance(6_000)
    expect(paused()).toEqual([0, 1])
    await tell('/api/v1/fleet/commands', { ...PAUSE, task: 'resume', service: 'shop' })
    await clock.advance(6_000)
    expect(paused()).toEqual([0, 0])
  })

  it('B17: a command that no living process can execute is refused, and nothing is audited', async () => {
    const { tell, clock, members, audited } = await fleetWorld(1)
    const wrong = [
      { ...PAUSE, channel: 'mails' },
      { ...PAUSE, handler: 'ship' },
      { ...PAUSE, service: 'mailer' },
      { ...PAUSE, instance: 'nobody' },
      { task: 'breaker', sink: 'crm', to: 'open', reason: 'x' },
    ]
    for (const body of wrong) expect((await tell('/api/v1/fleet/commands', body)).status).toBe(404)
    expect((await tell('/api/v1/fleet/commands', { ...PAUSE, task: 'reboot' })).status).toBe(400)
    expect(
      (await tell('/api/v1/fleet/commands', { task: 'breaker', channel: 'orders', reason: 'x' })).status,
    ).toBe(400)
    await members[0]!.close()
    await clock.advance(1)
    expect((await tell('/api/v1/fleet/commands', PAUSE)).status).toBe(404)
    expect(await audited()).toEqual([])
  })

  it.each([
    ['neither a channel nor a sink', {}],
    ['both', { channel: 'orders', sink: 'crm' }],
  ])('B17: a command for a breaker of %s is a fault of the request', async (_, which) => {
    const { tell, audited } = await fleetWorld(1)
    const breaker = { task: 'breaker', to: 'open', reason: 'a release', ...which }
    const { status, body } = await tell('/api/v1/fleet/commands', breaker)
    expect([status, body.faults]).toEqual([
      400,
      [expect.objectContaining({ path: 'task.channel', remedy: 'give either a channel or a sink' })],
    ])
    expect(await audited()).toEqual([])
  })

  it('B17: a command to any process has the process that took it', async () => {
    const { ask, tell, clock, members, paused } = await fleetWorld(3)
    const sent = await tell('/api/v1/fleet/commands', { ...PAUSE, recipients: 'any' })
    const [{ id, commands }] = sent.body.requests
    expect(commands).toMatchObject([{ recipients: members.map(each => each.id) }])
    await clock.advance(6_000)
    expect(paused().toSorted()).toEqual([0, 0, 1])
    const { body } = await ask(`/api/v1/fleet/commands/${id}`)
    expect(body.commands).toMatchObject([{ state: 'done', instance: members[paused().indexOf(1)]!.id }])
  })

  it('B17, B13: what a schema says does not show what is masked in the letter', async () => {
    const { ask, tell, bury, make, clock } = await fleetWorld(1)
    const [letter] = await bury(
      make.letter({ handler: 'bill', event: make.event({ payload: { amount: 'x', password: 'hunter2' } }) }),
    )
    const sent = await tell('/api/v1/fleet/commands', {
      ...{ task: 'validate', channel: 'orders', reason: 'x', letters: [letter!.id] },
    })
    await clock.advance(6_000)
    const read = () => ask(`/api/v1/fleet/commands/${sent.body.requests[0].id}`)
    const { body, text } = await read()
    expect(body.commands[0].result.letters).toMatchObject([
      { id: letter!.id, validity: 'invalid', reason: expect.stringMatching(/^amount of .* is x$/) },
    ])
    expect(text).not.toContain('hunter2')
  })

  it('B17: a server with a service name reports the consumers of its own process', async () => {
    const { store, clock, consumers } = await fleetWorld(1)
    const own = serverWorld({
      stores: store,
      clock,
      consumers,
      service: 'front',
      version: '3.1',
      release: 'r9',
    })
    await own.ask('/healthz')
    await clock.advance(0)
    const listed = await store.fleet!.list()
    expect(listed.map(({ report }) => report.service)).toEqual(['front', 'shop'])
    expect(listed[0]!.report).toMatchObject({ version: '3.1', release: 'r9' })
    await own.server.close()
    expect((await store.fleet!.list()).map(({ state }) => state)).toEqual(['left', 'alive'])
  })
})

/** A process with the consumer `orders/bill` and the sink `erp`, and a letter of each. */
async function taskWorld() {
  const world = await fleetWorld(1, { tokens: PEOPLE })
  const { clock, store, make, bury, consumers } = world
  const [consumer] = consumers as [Consumer]
  const erp = memorySink()
  const { deadLetters, commands } = store
  const dispatcher = createDispatcher({ sinks: { erp }, deadLetters, leaveOpen: true, clock })
  joinFleet({ store, service: 'sync', dispatchers: [dispatcher], clock })
  await bury(make.letter({ handler: 'bill' }), make.letter({ handler: 'erp', origin: {} }))
  let sent = 0
  const send = commands!.send.bind(commands)
  commands!.send = (all, ...rest) => {
    sent += all.length
    return send(all, ...rest)
  }
  return {
    ...world,
    consumer,
    /** Everything that a task can change. */
    state: () => ({
      commands: sent,
      paused: consumer.health().paused.length,
      breaker: consumer.health().breakerState,
      delivered: erp.events.length,
    }),
  }
}

type TaskWorld = Awaited<ReturnType<typeof taskWorld>>

interface TaskSample {
  readonly body: { readonly [field in 'channel' | 'handler' | 'sink' | 'to']?: string }
  readonly before?: (world: TaskWorld) => void
  /** What the process answers, and what is different afterwards. */
  readonly result: object
  readonly changes?: Partial<ReturnType<TaskWorld['state']>>
}

const BILL = { channel: 'orders', handler: 'bill' }

/** One row for each task of the table. */
const SAMPLES: { readonly [kind: string]: TaskSample | undefined } = {
  pause: { body: BILL, result: { handlers: ['bill'] }, changes: { paused: 1 } },
  resume: {
    body: BILL,
    before: ({ consumer }) => consumer.pause(),
    result: { handlers: ['bill'] },
    changes: { paused: 0 },
  },
  breaker: { body: { ...BILL, to: 'open' }, result: { forced: 1 }, changes: { breaker: 'forced-open' } },
  probe: { body: BILL, result: { consumers: [BILL] } },
  validate: { body: BILL, result: { valid: 1, invalid: 0, unknown: 0 } },
  resend: { body: { sink: 'erp' }, result: { delivered: 1, failed: 0 }, changes: { delivered: 1 } },
}

describe.each(TASK_KINDS)('the command %s over HTTP', kind => {
  async function prepared() {
    const sample = SAMPLES[kind]
    if (sample === undefined) throw new Error(`the task '${kind}' has no row in SAMPLES; add one`)
    const world = await taskWorld()
    sample.before?.(world)
    const command = (person: string) =>
      world.tell(
        '/api/v1/fleet/commands',
        { task: kind, ...sample.body, reason: 'a release' },
        { token: secretOf(person) },
      )
    return { ...world, sample, command }
  }

  it(`B17: a viewer cannot send ${kind}, and sees the fleet`, async () => {
    const { ask, clock, state, audited, command } = await prepared()
    const before = state()
    expect((await command('vic')).status).toBe(403)
    await clock.advance(6_000)
    expect(state()).toEqual(before)
    expect(await audited()).toEqual([])
    expect((await ask('/api/v1/fleet', { token: secretOf('vic') })).body.instances).toHaveLength(2)
  })

  it.each([
    ['operator', 'ola'],
    ['admin', 'ada'],
  ])(`B17: ${kind} by an %s is executed once, and audited with the name`, async (_, person) => {
    const { ask, clock, store, state, sample, command } = await prepared()
    const before = state()
    const sent = await command(person)
    expect(sent.status).toBe(200)
    const [{ id }] = sent.body.requests
    await clock.advance(6_000)
    expect(state()).toEqual({ ...before, ...sample.changes, commands: 1 })
    const { body } = await ask(`/api/v1/fleet/commands/${id}`, { token: secretOf(person) })
    expect(body).toMatchObject({
      ...{ by: person, reason: 'a release', task: { kind, ...sample.body } },
      commands: [{ state: 'done', result: sample.result }],
    })
    expect((await store.audit.list({ limit: 10 })).entries).toEqual([
      expect.objectContaining({
        ...{ by: person, action: `fleet.${kind}`, target: sample.body.channel ?? sample.body.sink },
        detail: expect.objectContaining({ ...sample.body, request: id, reason: 'a release' }),
      }),
    ])
  })
})
