import { describe, expect, it } from 'vitest'
import { memoryBroker, memorySink, memoryStore } from '../../adapters/memory/index.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { sendCommands } from '../../operations/fleet-commands.ts'
import type { CommandTask } from '../../ports/commands.ts'
import { DeadLettersClosedError } from '../../ports/dead-letters.ts'
import type { StandardSchema } from '../../ports/schema.ts'
import { createFactory, type TestLetterInput } from '../../testing/factories.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { createConsumer } from '../consumer/consumer.ts'
import { createDispatcher } from '../dispatcher/dispatcher.ts'
import { joinFleet } from './join-fleet.ts'

const amounts: StandardSchema = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: value => {
      const { amount } = value as { amount: unknown }
      return typeof amount === 'number' ? { value } : { issues: [{ message: `amount is ${amount}` }] }
    },
  },
}

/** Processes that share a store: each has a consumer of `orders` with a schema, and the sink `crm`. */
async function world(options: { instances?: number; schema?: StandardSchema | 'none' } = {}) {
  const { instances = 1, schema = amounts } = options
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  const make = createFactory({ clock })
  const crm = memorySink()
  /** What the sink does with the next batch, and with those after it. */
  let write = (events: readonly LazaretEvent[]): Promise<void> =>
    crm.write(events, { signal: new AbortController().signal })
  const members = []
  const ends: (() => Promise<void>)[] = []
  for (let n = 0; n < instances; n++) {
    const consumer = createConsumer({
      ...{ broker: memoryBroker({ clock }), channel: 'orders', name: 'bill', clock },
      ...{ deadLetters: store.deadLetters, leaveOpen: true, handle: () => {} },
      ...(schema !== 'none' && { schema }),
    })
    await consumer.start()
    const dispatcher = createDispatcher({
      sinks: { crm: { write: events => write(events) } },
      ...{
        deadLetters: store.deadLetters,
        leaveOpen: true,
        clock,
        retry: { attempts: 1 },
        timeoutMs: 60_000,
      },
    })
    const member = joinFleet({
      store,
      service: 'shop',
      consumers: [consumer],
      dispatchers: [dispatcher],
      clock,
      random: seededRandom(n + 1),
    })
    members.push({ ...member, id: member.id, consumer, dispatcher, close: () => member.close() })
    ends.push(async () => {
      await Promise.all([member.close(), consumer.close(), dispatcher.close()])
    })
  }
  await clock.advance(1)
  return {
    ...{ clock, store, make, crm, members },
    sinkDoes(next: typeof write) {
      write = next
    },
    async bury(input: TestLetterInput = {}) {
      const letter = make.letter(input)
      await store.deadLetters.send(letter)
      return letter
    },
    stateOf: async (id: string) => (await store.deadLetters.get(id))?.state,
    send: async (task: CommandTask) => (await sendCommands(store, { task, by: 'ann' }, clock)).request,
    async execute(task: CommandTask, forMs = 1) {
      const { request } = await sendCommands(store, { task, by: 'ann' }, clock)
      await clock.advance(forMs)
      const records = await store.commands!.get(request)
      expect(records).toHaveLength(1)
      return records[0]!
    },
    async end() {
      const ending = Promise.all(ends.map(end => end()))
      await clock.advance(120_000)
      await ending
    },
  }
}

type Tested = Awaited<ReturnType<typeof world>>
const ofSink = (it: Tested, input: TestLetterInput = {}) => it.bury({ handler: 'crm', ...input })

describe('a command to validate letters', () => {
  it('B17: says for each letter whether the consumer would take it, and changes nothing', async () => {
    const it = await world()
    const good = await it.bury({ handler: 'bill' })
    const bad = await it.bury({ handler: 'bill', event: it.make.event({ payload: { amount: 'x' } }) })
    const task = { kind: 'validate', channel: 'orders', handler: 'bill' }
    const { outcome, state } = await it.execute({ ...task, letters: [good.id, bad.id, 'unheard-of'] })
    const answers = [
      { id: good.id, validity: 'valid' },
      { id: bad.id, validity: 'invalid', reason: 'amount is x' },
      { id: 'unheard-of', validity: 'unknown', reason: 'it is not in the store of this process' },
    ]
    expect([state, outcome]).toEqual([
      'done',
      { ok: true, result: { valid: 1, invalid: 1, unknown: 1, letters: answers } },
    ])
    const all = await it.execute(task)
    expect(all.outcome).toMatchObject({ result: { valid: 1, invalid: 1, unknown: 0 } })
    expect([await it.stateOf(good.id), await it.stateOf(bad.id)]).toEqual(['dead', 'dead'])
    await it.end()
  })

  it('B17: without a handler checks a letter by the schema of its own handler alone', async () => {
    const it = await world()
    const own = await it.bury({ handler: 'bill' })
    const other = await it.bury({ handler: 'ship', event: it.make.event({ payload: { amount: 'x' } }) })
    const { outcome } = await it.execute({ kind: 'validate', channel: 'orders' })
    expect(outcome).toMatchObject({ ok: true, result: { valid: 1, invalid: 0, unknown: 1 } })
    const { letters } = (outcome as { result: { letters: unknown } }).result
    expect(letters).toContainEqual({ id: own.id, validity: 'valid' })
    const reason = 'this process has no schema of handler ship'
    expect(letters).toContainEqual({ id: other.id, validity: 'unknown', reason })
    await it.end()
  })

  it('B17: applies the patch of a plan first, and says when it does not fit', async () => {
    const it = await world()
    const { id } = await it.bury({ handler: 'bill', event: it.make.event({ payload: { amount: 'x' } }) })
    const task = { kind: 'validate', channel: 'orders', letters: [id] }
    const fixed = await it.execute({ ...task, patch: [{ op: 'replace', path: '/amount', value: 1 }] })
    expect(fixed.outcome).toMatchObject({ result: { valid: 1 } })
    const unfit = await it.execute({ ...task, patch: [{ op: 'remove', path: '/total' }] })
    expect(unfit.outcome).toMatchObject({ result: { unknown: 1 } })
    await it.end()
  })

  it('B17: fails without a schema, and does not know what a schema says that does not answer', async () => {
    const without = await world({ schema: 'none' })
    const failed = await without.execute({ kind: 'validate', channel: 'orders' })
    expect(failed.outcome).toMatchObject({ ok: false, error: expect.stringMatching(/has no schema/) })
    await without.end()
    const hung: StandardSchema = {
      '~standard': { version: 1, vendor: 'test', validate: () => new Promise(() => {}) },
    }
    const it = await world({ schema: hung })
    await it.bury({ handler: 'bill' })
    const { outcome } = await it.execute({ kind: 'validate', channel: 'orders' }, 6_000)
    expect(outcome).toMatchObject({
      result: { unknown: 1, letters: [{ reason: expect.stringMatching(/did not answer within 5 s/) }] },
    })
    await it.end()
  })

  it('B17: a slow command does not hold up the others', async () => {
    const hung: StandardSchema = {
      '~standard': { version: 1, vendor: 'test', validate: () => new Promise(() => {}) },
    }
    const it = await world({ schema: hung })
    await it.bury({ handler: 'bill' })
    const slow = await it.send({ kind: 'validate', channel: 'orders' })
    const { state } = await it.execute({ kind: 'pause', channel: 'orders' })
    expect([state, it.members[0]!.consumer.health().paused]).toEqual(['done', ['manual']])
    expect((await it.store.commands!.get(slow))[0]?.state).toBe('claimed')
    await it.end()
  })
})

describe('a command to resend letters', () => {
  it('B17, E17: sends each letter to its sink once, in one process, and resolves it', async () => {
    const it = await world({ instances: 3 })
    const letters = [await ofSink(it), await ofSink(it), await ofSink(it)]
    const { outcome, command } = await it.execute({ kind: 'resend', sink: 'crm' }, 2_000)
    expect(command.recipients.toSorted()).toEqual(it.members.map(({ id }) => id).toSorted())
    expect(outcome).toMatchObject({ result: { delivered: 3, failed: 0, refused: 0, pending: 0 } })
    expect(it.crm.events.map(({ id }) => id).toSorted()).toEqual(
      letters.map(({ event }) => event.id).toSorted(),
    )
    for (const { id } of letters) expect(await it.stateOf(id)).toBe('resolved')
    await it.end()
  })

  it('B17: a letter that fails again is dead again, with its second cycle', async () => {
    const it = await world()
    const { id } = await ofSink(it)
    it.sinkDoes(() => Promise.reject(new Error('the CRM is away')))
    const { outcome } = await it.execute({ kind: 'resend', sink: 'crm', letters: [id] }, 5_000)
    expect(outcome).toEqual({
      ok: true,
      result: { delivered: 0, failed: 1, refused: 0, pending: 0, letters: [{ id, outcome: 'failed' }] },
    })
    expect(await it.store.deadLetters.get(id)).toMatchObject({ state: 'dead', cycle: { number: 1 } })
    await it.end()
  })

  it('B17: refuses letters of others, letters that are not dead, and letters that another sends', async () => {
    const it = await world()
    const other = await it.bury({ handler: 'crm', origin: { broker: 'memory' } })
    const stranger = await it.bury({ handler: 'erp' })
    const done = await ofSink(it)
    await it.store.deadLetters.change(done.id, { to: 'discarded', at: 1 })
    const taken = await ofSink(it)
    const change = it.store.deadLetters.change.bind(it.store.deadLetters)
    it.store.deadLetters.change = async (id, to) => (id === taken.id ? undefined : change(id, to))
    const { outcome } = await it.execute(
      { kind: 'resend', sink: 'crm', letters: [other.id, stranger.id, done.id, taken.id] },
      2_000,
    )
    expect(outcome).toMatchObject({
      result: {
        refused: 4,
        letters: [
          { reason: 'it came from broker memory; replay it' },
          { reason: 'it is a letter of erp, not of sink crm' },
          { reason: 'it is discarded; only dead letters are sent' },
          { reason: 'another process changed it first' },
        ],
      },
    })
    expect(it.crm.events).toEqual([])
    await it.end()
  })

  it('B17: two commands for one letter send it once', async () => {
    const it = await world({ instances: 2 })
    const { id } = await ofSink(it)
    const open = Promise.withResolvers<void>()
    const written: string[] = []
    it.sinkDoes(async events => {
      await open.promise
      written.push(...events.map(event => event.id))
    })
    const requests = []
    for (let n = 0; n < 4; n++) requests.push(await it.send({ kind: 'resend', sink: 'crm', letters: [id] }))
    await it.clock.advance(2_000)
    open.resolve()
    await it.clock.advance(2_000)
    const records = await Promise.all(requests.map(each => it.store.commands!.get(each)))
    const counts = records.map(
      ([record]) => (record!.outcome as { result: { delivered: number } }).result.delivered,
    )
    expect([counts.toSorted(), written]).toEqual([[0, 0, 0, 1], [expect.any(String)]])
    await it.end()
  })

  it('B17: a sink that takes long leaves the letter pending, and the letter says what became of it', async () => {
    const it = await world()
    const { id } = await ofSink(it)
    const open = Promise.withResolvers<void>()
    it.sinkDoes(() => open.promise)
    const { outcome } = await it.execute({ kind: 'resend', sink: 'crm' }, 21_000)
    expect(outcome).toMatchObject({ result: { pending: 1, letters: [{ id, outcome: 'pending' }] } })
    open.resolve()
    await it.clock.advance(1)
    expect(await it.stateOf(id)).toBe('resolved')
    await it.end()
  })

  it('B17: a store that is away and a closed dispatcher leave the letter dead', async () => {
    const it = await world()
    const { id } = await ofSink(it)
    const { deadLetters } = it.store
    const { dispatcher } = it.members[0]!
    const change = deadLetters.change.bind(deadLetters)
    deadLetters.change = () => Promise.reject(new DeadLettersClosedError('memory'))
    const away = await it.execute({ kind: 'resend', sink: 'crm' })
    expect([away.outcome, await it.stateOf(id)]).toMatchObject([{ result: { refused: 1 } }, 'dead'])
    // The dispatcher closes when the letter is claimed already.
    deadLetters.change = async (...claim) => {
      void dispatcher.close()
      return change(...claim)
    }
    const closing = await it.execute({ kind: 'resend', sink: 'crm' })
    expect([closing.outcome, await it.stateOf(id)]).toMatchObject([{ result: { failed: 1 } }, 'dead'])
    const closed = await it.execute({ kind: 'resend', sink: 'crm' })
    expect(closed.outcome).toEqual({ ok: false, error: 'sink crm: this process has no such sink' })
    expect(await it.stateOf(id)).toBe('dead')
    await it.end()
  })
})

describe('a command to probe', () => {
  it('B17: has the health of a consumer or a sink now', async () => {
    const it = await world()
    it.members[0]!.consumer.pause()
    const consumers = await it.execute({ kind: 'probe', channel: 'orders' })
    expect(consumers.outcome).toMatchObject({
      result: { consumers: [{ channel: 'orders', paused: ['manual'], hasSchema: true, lag: 0 }] },
    })
    const sinks = await it.execute({ kind: 'probe', sink: 'crm' })
    expect(sinks.outcome).toMatchObject({ result: { sinks: [{ name: 'crm', breaker: 'closed' }] } })
    await it.end()
  })
})

describe('a command to any process', () => {
  it('B17: is executed by one of them', async () => {
    const it = await world({ instances: 2 })
    const { request } = await sendCommands(
      it.store,
      { task: { kind: 'pause', channel: 'orders' }, recipients: 'any', by: 'ann' },
      it.clock,
    )
    await it.clock.advance(1)
    const paused = () => it.members.map(({ consumer }) => consumer.health().paused.length)
    expect(paused().toSorted()).toEqual([0, 1])
    expect(await it.store.commands!.get(request)).toMatchObject([{ state: 'done' }])
    const { entries } = await it.store.audit.list({})
    expect(entries).toMatchObject([{ by: 'ann', action: 'fleet.pause', detail: { recipients: 'any' } }])
    await it.end()
  })

  it('B17: is executed by the next one when the first does not answer', async () => {
    const it = await world({ instances: 2 })
    const [first, next] = (await it.store.fleet!.list()).map(({ report }) => report.id)
    // The first process lives and reports, but its questions for commands never come to the store.
    const commands = it.store.commands!
    const { claim } = commands
    commands.claim = (id, limit) => (id === first ? new Promise(() => {}) : claim.call(commands, id, limit))
    const { request } = await sendCommands(
      it.store,
      { task: { kind: 'pause', channel: 'orders' }, recipients: 'any', by: 'ann' },
      it.clock,
    )
    await it.clock.advance(1)
    expect(await commands.get(request)).toMatchObject([
      { state: 'done', claimedBy: next, command: { recipients: [first, next] } },
    ])
    const paused = it.members.map(({ id, consumer }) => [id, consumer.health().paused])
    expect(Object.fromEntries(paused)).toEqual({ [first!]: [], [next!]: ['manual'] })
    await it.end()
  })

  it('B17: the audit log counts the letters, and has no value of a patch', async () => {
    const it = await world()
    const patch = [{ op: 'add', path: '/card', value: 'hunter2' }]
    await it.execute({ kind: 'validate', channel: 'orders', letters: ['a', 'b'], patch })
    const { entries } = await it.store.audit.list({})
    expect(entries).toMatchObject([
      { by: 'ann', action: 'fleet.validate', target: 'orders', detail: { letters: 2, isPatched: true } },
    ])
    expect(JSON.stringify(entries)).not.toContain('hunter2')
    await it.end()
  })
})
