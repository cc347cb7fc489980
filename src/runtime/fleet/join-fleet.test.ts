import { describe, expect, it } from 'vitest'
import { memoryBroker, memoryDeadLetters, memorySink, memoryStore } from '../../adapters/memory/index.ts'
import type { Command, CommandTask } from '../../ports/commands.ts'
import type { InstanceReport } from '../../ports/fleet.ts'
import { createFactory } from '../../testing/factories.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { createConsumer } from '../consumer/consumer.ts'
import { createDispatcher } from '../dispatcher/dispatcher.ts'
import { type FleetOptions, type FleetStore, joinFleet } from './join-fleet.ts'
import { TASKS } from './tasks.ts'

const MINUTE_MS = 60_000
const PAUSE = { kind: 'pause', channel: 'orders' }

async function world(more: Partial<FleetOptions> = {}) {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  const broker = memoryBroker({ clock })
  const consumer = createConsumer({
    broker,
    channel: 'orders',
    name: 'bill',
    deadLetters: memoryDeadLetters(),
    clock,
    handle: async () => {},
  })
  await consumer.start()
  const dispatcher = createDispatcher({
    sinks: { crm: memorySink() },
    deadLetters: memoryDeadLetters(),
    clock,
  })
  const errors: unknown[] = []
  const join = (options: Partial<FleetOptions> = {}) =>
    joinFleet({
      store,
      service: 'orders',
      consumers: [consumer],
      dispatchers: [dispatcher],
      clock,
      random: seededRandom(1),
      onError: error => void errors.push(error),
      ...more,
      ...options,
    })
  let sent = 0
  return {
    ...{ clock, store, broker, consumer, dispatcher, errors, join },
    make: createFactory({ clock }),
    listed: async () => (await store.fleet!.list()).map(({ report, state }) => `${report.service} ${state}`),
    report: async () => (await store.fleet!.list())[0]?.report as InstanceReport,
    async send(to: string, task: CommandTask): Promise<string> {
      const id = `c${++sent}`
      const command: Command = { v: 1, id, request: id, task, recipients: [to], by: 'ann' }
      await store.commands!.send([command], MINUTE_MS)
      return id
    },
    recordOf: async (id: string) => (await store.commands!.get(id))[0],
    async end() {
      await consumer.close()
      await dispatcher.close()
    },
  }
}

describe('a process in the fleet', () => {
  it('B18: reports an open breaker as half-open when its next event would be a probe', async () => {
    const { clock, store, consumer, join, report, end } = await world()
    const idle = createDispatcher({
      ...{ sinks: { crm: memorySink() }, deadLetters: store.deadLetters, leaveOpen: true, clock },
      healthCheck: 'off',
    })
    const breakers = [consumer.breaker!, idle.breaker('crm')!]
    for (const breaker of breakers)
      while (breaker.state.mode === 'closed')
        breaker.settle(breaker.admit(clock.now()) as number, 'failure', clock.now())
    const member = join({ dispatchers: [idle] })
    await clock.advance(0)
    const reported = async () => {
      const { consumers, sinks } = await report()
      return [...consumers, ...sinks].map(({ breaker }) => breaker)
    }
    expect(await reported()).toEqual(['open', 'open'])
    const untils = breakers.map(({ state }) => (state.mode === 'open' ? state.until : 0))
    await clock.advance(Math.max(...untils) - clock.now() + 10_000)
    // Nothing has asked the breakers, so they are still open.
    expect(breakers.map(({ state }) => state.mode)).toEqual(['open', 'open'])
    expect(await reported()).toEqual(['half-open', 'half-open'])
    await member.close()
    await idle.close()
    await end()
  })

  it('B17: reports itself, its consumers and its sinks', async () => {
    const { clock, broker, make, join, report, end } = await world({ version: '1.2', release: 'r7' })
    await broker.publish([make.event({ channel: 'orders' })])
    const member = join()
    await clock.advance(6_000)
    const { consumers, sinks, ...rest } = await report()
    expect(rest).toMatchObject({
      v: 1,
      id: member.id,
      service: 'orders',
      version: '1.2',
      release: 'r7',
      pid: process.pid,
    })
    expect(consumers).toEqual([
      expect.objectContaining({
        channel: 'orders',
        handler: 'bill',
        broker: 'memory',
        breaker: 'closed',
        paused: [],
        perMinute: 1,
        failureRate: 0,
        lag: expect.any(Number),
      }),
    ])
    expect(sinks).toEqual([expect.objectContaining({ name: 'crm', breaker: 'closed', buffered: 0 })])
    await member.close()
    await end()
  })

  it('B17: reports every 5 seconds, is gone after 15 seconds of silence, and says when it leaves', async () => {
    const { clock, store, join, listed, end } = await world()
    const member = join()
    await clock.advance(MINUTE_MS)
    expect(await listed()).toEqual(['orders alive'])
    const [before] = await store.fleet!.list()
    await clock.advance(5_000)
    const [after] = await store.fleet!.list()
    expect(after!.seenAt).toBeGreaterThan(before!.seenAt)
    await member.close()
    await member.close()
    expect(await listed()).toEqual(['orders left'])
    await clock.advance(MINUTE_MS)
    expect(await listed()).toEqual(['orders left'])
    await end()
  })

  it('B17: does not report a closed consumer, and cannot command it', async () => {
    const { clock, consumer, join, report, send, recordOf, end } = await world()
    const member = join()
    await clock.advance(1)
    expect((await report()).consumers).toHaveLength(1)
    await consumer.close()
    await clock.advance(6_000)
    const { consumers, sinks } = await report()
    expect([consumers, sinks.length]).toEqual([[], 1])
    const id = await send(member.id, PAUSE)
    await clock.advance(1_000)
    expect(await recordOf(id)).toMatchObject({
      state: 'failed',
      outcome: { error: 'channel orders has no consumer in this process' },
    })
    await member.close()
    await end()
  })

  it.each([
    [{ kind: 'breaker', sink: 'crm', to: 'open' }, 'breaker: sink crm has no breaker in this process'],
    [{ kind: 'probe', sink: 'crm' }, 'sink crm: this process has no such sink'],
  ])(
    'B17: does not report the sinks of a closed dispatcher, and cannot command them: %j',
    async (task, error) => {
      const { clock, dispatcher, join, report, send, recordOf, end } = await world()
      const member = join()
      await clock.advance(1)
      expect((await report()).sinks).toHaveLength(1)
      await dispatcher.close()
      await clock.advance(6_000)
      const { consumers, sinks } = await report()
      expect([consumers.length, sinks]).toEqual([1, []])
      const id = await send(member.id, task)
      await clock.advance(1_000)
      expect(await recordOf(id)).toMatchObject({ state: 'failed', outcome: { error } })
      await member.close()
      await end()
    },
  )

  it('B17: works on while the store is away, and reports again when it is back', async () => {
    const { clock, store, join, listed, errors, end } = await world()
    const { report } = store.fleet!
    const member = join()
    await clock.advance(0)
    store.fleet!.report = async () => Promise.reject(new Error('the store is away'))
    await clock.advance(20_000)
    expect(errors.map(String)).toContain('Error: the store is away')
    expect(await listed()).toEqual(['orders gone'])
    // A store that never answers holds nothing up either.
    store.fleet!.report = () => new Promise(() => {})
    await clock.advance(20_000)
    store.fleet!.report = report
    await clock.advance(10_000)
    expect(await listed()).toEqual(['orders alive'])
    await member.close()
    await end()
  })

  it('B17: deletes processes that left a day ago and commands of a week ago, at the start and every hour', async () => {
    const { clock, store, join, send, listed, recordOf, end } = await world()
    const earlier = join()
    await clock.advance(1)
    const old = await send(earlier.id, { kind: 'pause', channel: 'orders' })
    await clock.advance(1_000)
    await earlier.close()
    const member = join({ service: 'mails' })
    await clock.advance(23 * 3_600_000)
    expect(await listed()).toEqual(['mails alive', 'orders left'])
    await clock.advance(3 * 3_600_000)
    expect(await listed()).toEqual(['mails alive'])
    expect((await recordOf(old))?.state).toBe('done')
    await member.close()
    await clock.advance(7 * 86_400_000)
    const later = join({ service: 'later' })
    await clock.advance(1)
    expect([await listed(), await recordOf(old)]).toEqual([['later alive'], undefined])
    await later.close()
    await store.close()
    await end()
  })

  it('B17: refuses a store without a whole fleet, with the remedy', async () => {
    const { store, join, end } = await world()
    const { fleet, commands } = store
    const half = [{}, { fleet: { report: async () => {} } }, { fleet, commands: { ...commands, claim: 1 } }]
    for (const given of half)
      expect(() => join({ store: given as unknown as FleetStore })).toThrow(/store.*openPostgres/s)
    expect(() => join({ service: '', reportEveryMs: 1 })).toThrow(/service.*reportEveryMs/s)
    await end()
  })

  it('B17: reports a consumer and a dispatcher once that it was given twice', async () => {
    const { clock, consumer, dispatcher, join, report, end } = await world()
    const member = join({ consumers: [consumer, consumer], dispatchers: [dispatcher, dispatcher] })
    await clock.advance(0)
    const { consumers, sinks } = await report()
    expect([consumers.length, sinks.length]).toEqual([1, 1])
    await member.close()
    await end()
  })
})

describe('commands to a process', () => {
  it('B17: pause and resume a consumer, once each, with the result recorded', async () => {
    const { clock, store, consumer, join, send, recordOf, end } = await world()
    const member = join()
    const pause = await send(member.id, { kind: 'pause', channel: 'orders' })
    await clock.advance(1_000)
    expect(consumer.health().paused).toEqual(['manual'])
    // A plan that is made now knows it.
    expect((await store.fleet!.list())[0]?.report.consumers[0]?.paused).toEqual(['manual'])
    expect(await recordOf(pause)).toMatchObject({
      state: 'done',
      claimedBy: member.id,
      outcome: { ok: true, result: { handlers: ['bill'] } },
    })
    consumer.resume()
    await clock.advance(MINUTE_MS)
    expect(consumer.health().paused).toEqual([])
    consumer.pause()
    await send(member.id, { kind: 'resume', channel: 'orders', handler: 'bill' })
    await clock.advance(1_000)
    expect(consumer.health().paused).toEqual([])
    await member.close()
    await end()
  })

  it('B17: force the breaker of a consumer and of a sink', async () => {
    const { clock, consumer, dispatcher, join, send, end } = await world()
    const member = join()
    await send(member.id, { kind: 'breaker', channel: 'orders', to: 'open' })
    await send(member.id, { kind: 'breaker', sink: 'crm', to: 'open' })
    await clock.advance(1_000)
    expect([consumer.health().breakerState, dispatcher.health().sinks.crm.breakerState]).toEqual([
      'forced-open',
      'forced-open',
    ])
    await send(member.id, { kind: 'breaker', channel: 'orders', handler: 'bill', to: 'auto' })
    await clock.advance(1_000)
    expect(consumer.health().breakerState).toBe('half-open')
    await member.close()
    await end()
  })

  it.each([
    ['another channel', { kind: 'pause', channel: 'mails' }, /channel mails has no consumer/],
    ['another handler', { kind: 'resume', channel: 'orders', handler: 'ship' }, /handler ship/],
    ['a sink it lacks', { kind: 'breaker', sink: 'erp', to: 'open' }, /sink erp has no breaker/],
    ['neither', { kind: 'breaker', to: 'open' }, /either a channel or a sink/],
    ['a handler of a sink', { kind: 'probe', sink: 'crm', handler: 'bill' }, /task\.handler.*leave it out/s],
    ['a wrong mode', { kind: 'breaker', channel: 'orders', to: 'ajar' }, /task\.to/],
    ['an unknown task', { kind: 'reboot' }, /does not know the task 'reboot'/],
  ] as const)('B17: a command for %s fails with the reason', async (_, task, reason) => {
    const { clock, join, send, recordOf, end } = await world()
    const member = join()
    const id = await send(member.id, task)
    await clock.advance(1_000)
    const record = await recordOf(id)
    expect(record?.state).toBe('failed')
    expect(record?.outcome).toMatchObject({ error: expect.stringMatching(reason) })
    await member.close()
    await end()
  })

  it('B17: an announced command is executed without waiting for the next look', async () => {
    const { clock, consumer, join, send, end } = await world()
    const member = join({ commandsEveryMs: 600_000, reportEveryMs: 600_000 })
    await clock.advance(0)
    await send(member.id, { kind: 'pause', channel: 'orders' })
    await clock.advance(0)
    expect(consumer.health().paused).toEqual(['manual'])
    await member.close()
    await send(member.id, { kind: 'resume', channel: 'orders' })
    await clock.advance(MINUTE_MS)
    expect(consumer.health().paused).toEqual(['manual'])
    await end()
  })

  it('B17: more commands than one claim takes are all executed, in their order', async () => {
    const { clock, join, send, recordOf, end } = await world()
    const member = join()
    const ids: string[] = []
    for (let n = 0; n < 50; n++)
      ids.push(await send(member.id, { kind: n % 2 === 0 ? 'pause' : 'resume', channel: 'orders' }))
    await clock.advance(1_000)
    for (const id of ids) expect((await recordOf(id))?.state).toBe('done')
    await member.close()
    await end()
  })

  it('B17: a command whose outcome the store does not take does not hold up the others', async () => {
    const { clock, store, join, send, recordOf, errors, end } = await world()
    const finish = store.commands!.finish.bind(store.commands)
    let calls = 0
    store.commands!.finish = async (...given) => {
      if (calls++ === 0) throw new Error('the connection is lost')
      return finish(...given)
    }
    const member = join()
    const ids = [await send(member.id, PAUSE), await send(member.id, PAUSE), await send(member.id, PAUSE)]
    await clock.advance(1_000)
    const states = await Promise.all(ids.map(async id => (await recordOf(id))?.state))
    expect([states, errors.map(String)]).toEqual([
      ['claimed', 'done', 'done'],
      ['Error: the connection is lost'],
    ])
    await member.close()
    await end()
  })

  it('B17: after it left, a late answer of the store makes a process neither execute a command nor come back', async () => {
    const { clock, store, consumer, join, listed, send, recordOf, end } = await world()
    const { fleet, commands } = store
    const claim = commands!.claim.bind(commands)
    const report = fleet!.report.bind(fleet)
    const answers = Promise.withResolvers<void>()
    const member = join()
    await clock.advance(0)
    commands!.claim = (...given) => answers.promise.then(() => claim(...given))
    fleet!.report = (...given) => answers.promise.then(() => report(...given))
    await clock.advance(5_000)
    const closing = member.close()
    await clock.advance(5_000)
    await closing
    expect(await listed()).toEqual(['orders left'])
    const id = await send(member.id, PAUSE)
    answers.resolve()
    await clock.advance(0)
    expect(consumer.health().paused).toEqual([])
    expect(await recordOf(id)).toMatchObject({
      state: 'failed',
      outcome: { error: 'this process has left the fleet' },
    })
    expect(await listed()).toEqual(['orders left'])
    await end()
  })

  it('B17: every task of the table is known by its name', () => {
    expect(Object.keys(TASKS)).toEqual(['pause', 'resume', 'breaker', 'probe', 'validate', 'resend'])
  })
})
