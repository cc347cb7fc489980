import { expect, it } from 'vitest'
import { PEOPLE, secretOf, serverWorld } from '../../test/support/server-world.ts'
import { createConsumer } from '../runtime/consumer/consumer.ts'
import { joinFleet } from '../runtime/fleet/join-fleet.ts'
import { replayOf } from '../testing/conformance/store/replays.ts'

/** A server, and a service in another process whose consumer has a schema. */
async function gateWorld(options: Parameters<typeof serverWorld>[0] = {}) {
  const world = serverWorld(options)
  const { clock, store, make } = world
  const consumer = createConsumer({
    ...{ broker: store.broker!, channel: 'orders', name: 'ship', clock },
    ...{ deadLetters: store.deadLetters, leaveOpen: true, handle: () => {} },
    schema: {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: value => {
          const { amount, password } = value as { amount: unknown; password?: string }
          return typeof amount === 'number' ? { value } : { issues: [{ message: `no amount, ${password}` }] }
        },
      },
    },
  })
  const member = joinFleet({ store, service: 'shop', version: '2.4.1', consumers: [consumer], clock })
  await clock.advance(3_000)
  const origin = { broker: store.broker!.name }
  await world.bury(
    make.letter({ handler: 'ship', origin, event: make.event({ payload: { amount: 1 } }) }),
    make.letter({
      handler: 'ship',
      origin,
      event: make.event({ payload: { password: 'hunter2' } as never }),
    }),
  )
  return {
    ...world,
    member,
    /** Waits for an answer while time passes, as the process needs it, and no faster than the store answers. */
    async passing<T>(work: Promise<T>): Promise<T> {
      let isOver = false
      void work.finally(() => {
        isOver = true
      })
      while (!isOver) {
        await clock.advance(50)
        await store.fleet!.list()
      }
      return work
    },
  }
}

it('B18, P2: a replay says why no process sends its letters, and since when, masked', async () => {
  const { ask, store } = serverWorld({ tokens: PEOPLE })
  const reason = 'the process p1 could not send the letters: postgres://ann:hunter2@db is away'
  const problem = { reason, since: Date.parse('2026-01-01T00:00:05Z') }
  await store.replays.create(replayOf('stuck', { state: 'running', problem }), [])
  await store.replays.create(replayOf('fine', { state: 'paused' }), [])
  const read = async (id: string) => (await ask(`/api/v1/replays/${id}`, { token: secretOf('vic') })).body
  expect((await read('stuck')).problem).toEqual({
    reason: expect.stringMatching(/^the process p1 could not send the letters: .*\*\*\*.*db is away$/),
    since: '2026-01-01T00:00:05.000Z',
  })
  expect(JSON.stringify(await read('stuck'))).not.toContain('hunter2')
  expect(await read('fine')).not.toHaveProperty('problem')
})

const PLAN = { filter: { channel: 'orders' }, reason: 'fixed' }

it('K8, P2: a plan has the word of a living consumer, whose it is and how old, with the reasons masked', async () => {
  const { ask, tell, passing, member, clock } = await gateWorld({ tokens: PEOPLE })
  const { status, body } = await passing(tell('/api/v1/replays', PLAN, { token: secretOf('ola') }))
  expect([status, body.findings]).toEqual([201, { replay: 1, skip_schema: 1 }])
  const processes = [{ id: member.id, service: 'shop', version: '2.4.1' }]
  const { body: read } = await ask(`/api/v1/replays/${body.id}`, { token: secretOf('vic') })
  expect(read.checks).toEqual([
    {
      ...{ gate: 'schema', channel: 'orders', handler: 'ship', letters: 2 },
      answer: { answeredBy: 'fleet', saidAt: expect.any(String), count: 1, processes },
    },
    {
      ...{ gate: 'downstream', channel: 'orders', letters: 1 },
      answer: { answeredBy: 'fleet', saidAt: expect.any(String), count: 1, processes },
    },
  ])
  for (const { answer } of read.checks)
    expect(clock.now() - Date.parse(answer.saidAt)).toBeLessThanOrEqual(5_000)
  const { findings } = (await ask(`/api/v1/replays/${body.id}/findings`, { token: secretOf('vic') })).body
  expect(findings).toContainEqual(
    expect.objectContaining({ decision: 'skip_schema', reasons: [{ reason: 'no amount, ***', count: 1 }] }),
  )
})

it('B13, P2: a preview has the word of a living consumer, masked, or says why it has none', async () => {
  const { tell, passing, member } = await gateWorld()
  const preview = () => passing(tell('/api/v1/replays/preview', { filter: { channel: 'orders' } }))
  const { samples, notChecked } = (await preview()).body
  expect(samples.map(({ fault }: { fault?: string }) => fault).toSorted()).toEqual([
    'no amount, ***',
    undefined,
  ])
  expect(notChecked).toBeUndefined()
  await passing(member.close())
  const unchecked = (await preview()).body
  expect(unchecked.notChecked).toBe('no living process in the fleet consumes orders/ship')
  expect(unchecked.samples[0].fault).toBeUndefined()
})

it('K8: without a living consumer the plan says that nobody checked, and a demanded check skips the letters', async () => {
  const { tell, passing, member } = await gateWorld()
  await passing(member.close())
  const { body } = await tell('/api/v1/replays', PLAN)
  const answer = { answeredBy: 'nobody', reason: 'no living process in the fleet consumes orders/ship' }
  expect(body.findings).toEqual({ replay: 2 })
  expect(body.checks).toContainEqual({
    ...{ gate: 'schema', channel: 'orders', handler: 'ship', letters: 2 },
    answer,
  })
  const demanded = await tell('/api/v1/replays', { ...PLAN, requireSchema: true })
  expect(demanded.status).toBe(422)
  expect(demanded.body.detail).toContain(`2 × unknown: ${answer.reason}.`)
  expect(demanded.body.detail).toContain(
    `Gate schema of orders/ship: 2 letters not checked: ${answer.reason}.`,
  )
})
