import { expect } from 'vitest'
import { memoryBroker } from '../../src/adapters/memory/index.ts'
import type { Broker, Delivery } from '../../src/ports/broker.ts'
import type { Store } from '../../src/ports/store.ts'
import { planReplay } from '../../src/replay/plan.ts'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'
import { createDispatcher } from '../../src/runtime/dispatcher/dispatcher.ts'
import { joinFleet } from '../../src/runtime/fleet/join-fleet.ts'
import { createSealing } from '../../src/runtime/sealing/sealing.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'

export const SEALING = createSealing({ current: 'k1', keys: { k1: new Uint8Array(32).fill(7) } })
/** Matches what none of the bytes at rest may contain: payload, header, key, error, patch, search, schema finding. */
export const SECRETS = /hunter2|cust-4711|tok-9zq8|new-secret|sought-it|told-it/i

/** Puts secrets into every place of a store that may hold one, and sees that they come back as they were. */
export async function fillWithSecrets(store: Store): Promise<void> {
  const clock = new FakeClock()
  const make = createFactory({ clock })
  const event = make.event({
    key: 'cust-4711',
    headers: { authorization: 'tok-9zq8' },
    payload: { password: 'hunter2' },
  })
  const error = Object.assign(new Error('login with hunter2 of cust-4711 refused, sought-it'), {
    name: 'LoginError',
  })
  const letter = make.letter({ event, error, metadata: { login: 'hunter2' } })
  await store.deadLetters.send(letter)
  const stored = await store.deadLetters.get(letter.id)
  expect(stored?.cycle.failure?.message).toBe(error.message)
  expect(stored?.event.key).toBe('cust-4711')
  expect(stored?.metadata).toEqual({ login: 'hunter2' })
  const [group] = (await store.groups.list({ search: 'loginerror' })).groups
  expect(group?.title).toBe(`LoginError: ${error.message}`)
  expect((await store.groups.get(group!.id))?.basis).not.toMatch(/^sealed/)
  expect((await store.deadLetters.list({ search: 'LoginError' })).letters).toHaveLength(1)
  const patch = [
    { op: 'replace', path: '/password', value: 'new-secret' },
    { op: 'add', path: '/more', value: { deep: ['new-secret'] } },
  ] as const
  const environment = { clock, newId: () => '01999999-0000-7000-8000-000000000001' }
  const planned = await planReplay(store, { ids: [letter.id], patch, reason: 'x', by: 'ann' }, environment)
  expect((await store.replays.get(planned.id))?.patch).toEqual(patch)
  expect((await store.replays.list()).map(replay => replay.patch)).toEqual([patch])
  // As a runner does when the schema refuses the payload.
  const [item] = await store.replays.items(planned.id)
  const refused = { decision: 'skip_schema', reason: 'told-it', status: 'skipped' } as const
  await store.replays.record(planned.id, [{ ...item!, ...refused }])
  expect(await store.replays.items(planned.id)).toMatchObject([
    { decision: 'skip_schema', reason: 'told-it' },
  ])
  // Created directly, because a sealed store does not find the letter by its text.
  const id = '01999999-0000-7000-8000-000000000002'
  const selectedBy = { filter: { search: 'SOUGHT-it' } }
  // As a runner does when a process quotes a payload in its error.
  const problem = { reason: 'hunter2 was refused', since: clock.now() }
  await store.replays.create({ ...planned, id, selectedBy, patch: undefined, problem }, [])
  const replay = await store.replays.get(id)
  expect(replay?.problem).toEqual(problem)
  expect(replay?.selectedBy.filter?.search).toBe('SOUGHT-it')
  expect((await store.replays.update({ ...replay!, state: 'cancelled' }))?.selectedBy.filter?.search).toBe(
    'SOUGHT-it',
  )
}

/** Sends a command with a patch, and finishes it with what a schema found. Both come back as they were. */
export async function commandWithSecrets({ commands }: Store): Promise<void> {
  if (commands === undefined) return
  const patch = [{ op: 'add', path: '/password', value: 'new-secret' }]
  const task = { kind: 'validate', channel: 'orders', patch }
  const [to, other] = ['a', 'b'].map(
    id => ({ v: 1, id, request: 'r', task, recipients: ['i'], by: 'ann' }) as const,
  )
  await commands.send([to!, other!], 60_000)
  expect(await commands.claim('i', 2)).toEqual([to, other])
  await commands.finish('a', 'i', { ok: true, result: { letters: [{ reason: 'told-it' }] } })
  await commands.finish('b', 'i', { ok: false, error: 'told-it' })
  for (const records of [await commands.get('r'), (await commands.list(2)).toReversed()])
    expect(records).toMatchObject([
      { command: to, outcome: { ok: true, result: { letters: [{ reason: 'told-it' }] } } },
      { command: other, outcome: { ok: false, error: 'told-it' } },
    ])
}

/** Lets a process of the fleet fail at events with secrets, and report that. */
export async function reportWithSecrets({ fleet, deadLetters }: Store): Promise<void> {
  if (fleet === undefined) return
  const broker = memoryBroker()
  const fail = () => Promise.reject(new Error('login with hunter2 refused, told-it'))
  const given = { deadLetters, retry: { attempts: 1 }, leaveOpen: true } as const
  const consumer = createConsumer({ ...given, broker, channel: 'logins', name: 'check', handle: fail })
  const dispatcher = createDispatcher({ ...given, sinks: { crm: { write: fail } }, channel: 'events' })
  await consumer.start()
  const secret = { headers: { authorization: 'tok-9zq8' }, payload: { password: 'hunter2' } }
  await broker.publish([createFactory().event({ ...secret, channel: 'logins', key: 'cust-4711' })])
  await dispatcher.track({ type: 'login', ...secret }).catch(() => {})
  const reported = Promise.withResolvers<void>()
  const observed: typeof fleet = {
    ...fleet,
    async report(report, leaseMs) {
      await fleet.report(report, leaseMs)
      if (report.consumers[0]?.failureRate === 1 && report.sinks[0]?.gaveUp === 1) reported.resolve()
    },
  }
  const parts = { consumers: [consumer], dispatchers: [dispatcher] }
  const member = joinFleet({ store: { fleet: observed }, service: 'shop', reportEveryMs: 100, ...parts })
  await reported.promise
  for (const part of [member, consumer, dispatcher]) await part.close()
}

/** Writes audit entries as a search and a purge do, and sees that they come back as they were. */
export async function auditSecrets(store: Store): Promise<void> {
  const entry = { at: 5, by: 'ann', action: 'letters.search', target: 'dead letters' }
  await store.audit.append({ ...entry, detail: { search: 'hunter2', letters: 1 } })
  await store.audit.append({ ...entry, at: 6, action: 'letters.purge', detail: { letters: 1 } })
  const { entries } = await store.audit.list()
  const told = entries.filter(({ by, action }) => by === 'ann' && action.startsWith('letters.'))
  expect(told.map(({ detail }) => detail)).toEqual([{ letters: 1 }, { search: 'hunter2', letters: 1 }])
}

/** Lets an event fail and wait for its retry, with what is kept of the attempt. It comes back as it was. */
export async function retryWithSecrets(broker: Broker): Promise<void> {
  const make = createFactory()
  const event = make.event({ channel: 'sealed', payload: { password: 'hunter2' } })
  const failure = {
    name: 'E',
    message: 'hunter2',
    code: undefined,
    category: 'unknown',
    fingerprint: 'f',
  } as const
  const ended = make.attempt(1, { failure: { ...failure, stack: 'at hunter2' } })
  const seen: Delivery[] = []
  let tell = () => {}
  const isBack = new Promise<void>(resolve => {
    tell = resolve
  })
  const options = { channel: 'sealed', handler: 'h', prefetch: 1, ordering: 'none' } as const
  const subscription = await broker.subscribe(options, delivery => {
    seen.push(delivery)
    if (seen.length > 1) tell()
    else void retry(delivery)
  })
  async function retry(delivery: Delivery): Promise<void> {
    await subscription.begin(delivery, [])
    await subscription.settle(delivery, { outcome: 'retry', notBefore: 0, ended: [ended] })
  }
  await broker.publish([event])
  await isBack
  expect(seen[1]?.history).toMatchObject([{ failure: { message: 'hunter2', stack: 'at hunter2' } }])
}
