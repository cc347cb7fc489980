import { describe, expect, it } from 'vitest'
import { secretOf, serverWorld, tokenOf } from '../../test/support/server-world.ts'
import { memoryBroker, memoryDeadLetters } from '../adapters/memory/index.ts'
import type { Consumer } from '../runtime/consumer/consumer.ts'
import { createConsumer } from '../runtime/consumer/consumer.ts'
import { type FleetMembership, joinFleet } from '../runtime/fleet/join-fleet.ts'

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
    ['viewer', 403],
    ['operator', 200],
    ['admin', 200],
  ] as const)('B17: the role %s gets %d for a command', async (role, status) => {
    const tokens = [tokenOf('ann', role)]
    const { ask, tell, audited } = await fleetWorld(1, { tokens })
    const token = secretOf('ann')
    expect((await ask('/api/v1/fleet', { token })).status).toBe(200)
    for (const body of [PAUSE, { ...PAUSE, task: 'resume' }, { ...PAUSE, task: 'breaker', to: 'open' }])
      expect((await tell('/api/v1/fleet/commands', body, { token })).status).toBe(status)
    expect(await audited()).toEqual(
      status === 403 ? [] : ['ann fleet.breaker orders', 'ann fleet.resume orders', 'ann fleet.pause orders'],
    )
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
    const own = serverWorld({ stores: store, clock, consumers, service: 'front' })
    await own.ask('/healthz')
    await clock.advance(0)
    const listed = await store.fleet!.list()
    expect(listed.map(({ report }) => report.service)).toEqual(['front', 'shop'])
    await own.server.close()
    expect((await store.fleet!.list()).map(({ state }) => state)).toEqual(['left', 'alive'])
  })
})
