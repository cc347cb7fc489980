import { expect, it } from 'vitest'
import { deliveryWorld } from '../../../test/support/delivery-world.ts'
import { sinkWorld } from '../../../test/support/sink-delivery-world.ts'
import { sendCommands } from '../../operations/fleet-commands.ts'
import type { Clock } from '../../ports/clock.ts'

/** The clock, which also counts the timers that were scheduled through it and are left. */
function counted(clock: Clock): Clock & { readonly left: () => number } {
  const timers = new Set<object>()
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic!(),
    schedule(delayMs, task) {
      const timer = {}
      timers.add(timer)
      const cancel = clock.schedule(delayMs, () => {
        timers.delete(timer)
        task()
      })
      return () => {
        timers.delete(timer)
        cancel()
      }
    },
    left: () => timers.size,
  }
}

it('B18: a process that leaves between two letters of a delivery has recorded the first, and another one sends the second', async () => {
  const { clock, store, fail, join, start, run, until, reach, published } = deliveryWorld(2)
  await fail()
  const own = counted(clock)
  const one = await join('one', { clock: own })
  await clock.advance(1_000)
  const id = await start({ stages: ['rest'], perSecond: 1 })
  const running = run(id)
  await reach(() => published.length === 1)
  const from = clock.now()
  let tookMs: number | undefined
  void one.close().then(() => {
    tookMs = clock.now() - from
  })
  await clock.advance(100)
  expect([tookMs, own.left()]).toEqual([0, 0])
  expect(await store.replays.items(id)).toMatchObject([{ handedOn: 'durable' }, { status: 'sent' }])
  const two = await join('two')
  expect((await until(running)).state).toBe('finished')
  expect(published.map(each => each.split(' ')[0])).toEqual(['one', 'two'])
  await until(two.close())
})

it('B17: a process that leaves while a sink has a letter waits 5 seconds for it, and answers that it is pending', async () => {
  const { clock, store, sinkOf, join, reach, written } = await sinkWorld()
  const own = counted(clock)
  const answer = Promise.withResolvers<void>()
  const dispatcher = sinkOf('one', () => answer.promise, { timeoutMs: 60_000 })
  const one = await join('one', { clock: own, consumers: [], dispatchers: [dispatcher] })
  await clock.advance(1_000)
  const [letter] = (await store.deadLetters.list({})).letters
  const task = { kind: 'resend', sink: 'crm', letters: [letter!.id] }
  const { request } = await sendCommands(store, { task, by: 'ann' }, clock)
  await reach(() => written.length === 1)
  let hasLeft = false
  void one.close().then(() => {
    hasLeft = true
  })
  await clock.advance(100)
  expect(await store.commands!.get(request)).toMatchObject([{ outcome: { result: { pending: 1 } } }])
  expect(hasLeft).toBe(false)
  await clock.advance(5_000)
  expect([hasLeft, own.left()]).toEqual([true, 0])
  answer.resolve()
  await clock.advance(100)
  expect(await store.deadLetters.get(letter!.id)).toMatchObject({ state: 'resolved' })
})

it('B17: a process that leaves while the store claims letters for it sends none of them', async () => {
  const { clock, store, sinkOf, join, until, reach, written } = await sinkWorld()
  const one = await join('one', { consumers: [], dispatchers: [sinkOf('one')] })
  await clock.advance(1_000)
  const [letter] = (await store.deadLetters.list({})).letters
  const { deadLetters } = store
  const { change } = deadLetters
  const claiming = Promise.withResolvers<void>()
  let isClaimed = false
  deadLetters.change = async (...of) => {
    const changed = await change.apply(deadLetters, of)
    isClaimed = true
    await claiming.promise
    return changed
  }
  const task = { kind: 'resend', sink: 'crm', letters: [letter!.id] }
  const { request } = await sendCommands(store, { task, by: 'ann' }, clock)
  await reach(() => isClaimed)
  const closing = one.close()
  claiming.resolve()
  await until(closing)
  const reason = 'this process is leaving the fleet'
  expect(await store.commands!.get(request)).toMatchObject([
    { outcome: { result: { letters: [{ reason }] } } },
  ])
  expect([await deadLetters.get(letter!.id), written]).toMatchObject([{ state: 'dead' }, []])
})

it('B17: a process that leaves does not wait for a schema that does not answer', async () => {
  const { clock, store, fail, join, consumerOf } = deliveryWorld(1)
  await fail()
  const own = counted(clock)
  const consumer = await consumerOf('one')
  const validate = () => new Promise<never>(() => {})
  const schema = { '~standard': { version: 1, vendor: 'test', validate } } as const
  const one = await join('one', { clock: own, consumers: [Object.assign(consumer, { schema })] })
  await clock.advance(1_000)
  const { request } = await sendCommands(
    store,
    { task: { kind: 'validate', channel: 'orders' }, by: 'ann' },
    clock,
  )
  await clock.advance(100)
  let hasLeft = false
  void one.close().then(() => {
    hasLeft = true
  })
  await clock.advance(100)
  expect([hasLeft, own.left()]).toEqual([true, 0])
  const error = 'this process is leaving the fleet'
  expect(await store.commands!.get(request)).toMatchObject([{ outcome: { ok: false, error } }])
})

it('B17: leaves within seconds while the store does not answer, however seldom it reports', async () => {
  const { clock, store, join } = deliveryWorld(0)
  const never = () => new Promise<never>(() => {})
  const away = {
    fleet: { ...store.fleet!, report: never, leave: never },
    commands: { ...store.commands!, claim: never },
  }
  const member = await join('one', { store: away, reportEveryMs: 600_000 })
  const from = clock.now()
  let tookMs: number | undefined
  void member.close().then(() => {
    tookMs = clock.now() - from
  })
  await clock.advance(600_000)
  expect(tookMs).toBeLessThanOrEqual(10_000)
})
