import { expect, it } from 'vitest'
import { deliveryWorld } from '../../../test/support/delivery-world.ts'
import { sinkWorld } from '../../../test/support/sink-delivery-world.ts'
import type { ReplayItem } from '../../ports/replays.ts'
import type { Store } from '../../ports/store.ts'
import { sleep } from '../sleep.ts'
import { GIVE_UP_MS } from './deliver.ts'

/** The steps of a delivery. Those who send add `sent`. A record counts only under the delivery that its item belongs to. */
function stepsOf({ replays }: Pick<Store, 'replays'>): string[] {
  const steps: string[] = []
  const { record } = replays
  replays.record = async (id, items, onlyIf) => {
    await record.call(replays, id, items, onlyIf)
    for (const item of items)
      if (item.handedOn !== undefined && onlyIf?.delivery !== undefined && onlyIf.delivery === item.delivery)
        steps.push('recorded')
  }
  return steps
}

/** The store refuses to record what was sent while `isRefused` says so. Returns the deliveries whose records it refused. */
function refuseRecords(
  { replays }: Pick<Store, 'replays'>,
  isRefused: (delivery: string, refused: readonly string[]) => boolean,
): readonly string[] {
  const refused: string[] = []
  const { record } = replays
  replays.record = async (id, items, onlyIf) => {
    const [{ handedOn, delivery }] = items as [ReplayItem]
    if (handedOn !== undefined && isRefused(delivery!, refused)) {
      refused.push(delivery!)
      throw new Error('the store is read-only')
    }
    await record.call(replays, id, items, onlyIf)
  }
  return refused
}

const oneByOne = (letters: number) => Array.from({ length: letters }, () => ['sent', 'recorded']).flat()

it('B18: a process records each letter right after it has sent it, under its delivery, and before it sends the next', async () => {
  const { clock, store, fail, join, start, run, until, published, shop } = deliveryWorld(5)
  await fail()
  const one = await join('one')
  await clock.advance(1_000)
  const id = await start({ stages: ['rest'] })
  const steps = stepsOf(store)
  shop.beforePublish = async () => {
    // The broker takes its time, so a record that does not wait for it comes first.
    await sleep(clock, 10)
    steps.push('sent')
  }
  expect((await until(run(id), 10)).state).toBe('finished')
  expect(steps).toEqual(oneByOne(5))
  expect(published).toHaveLength(5)
  await until(one.close())
})

it('B18: a process records each letter right after its sink has it, under its delivery, with its own id', async () => {
  const { clock, store, sinkOf, join, start, run, until, reach } = await sinkWorld()
  const dispatcher = sinkOf('one', async () => {}, { breaker: {}, whenOpen: 'wait' })
  dispatcher.breaker('crm')!.force('open')
  const steps = stepsOf(store)
  const { resend } = dispatcher
  dispatcher.resend = letter => {
    steps.push('sent')
    return resend.call(dispatcher, letter)
  }
  const one = await join('one', { consumers: [], dispatchers: [dispatcher] })
  await clock.advance(1_000)
  const id = await start({ stages: ['rest'] })
  const running = run(id)
  // The breaker is open, so nothing has an outcome that could stand for the record.
  await reach(() => dispatcher.health().sinks.crm.buffered === 12)
  await clock.advance(1_000)
  expect(steps).toEqual(oneByOne(12))
  const items = await store.replays.items(id)
  expect(items.map(({ handedOn, heldBy }) => [handedOn, heldBy])).toEqual(
    Array(12).fill(['in-process', one.id]),
  )
  dispatcher.breaker('crm')!.force('closed')
  expect((await until(running)).state).toBe('finished')
  await until(one.close())
})

it('B18: a process whose claim is answered late may send no longer than if it had been answered at once', async () => {
  const { clock, store, fail, join, start, run, until, reach, published } = deliveryWorld(1)
  await fail()
  const one = await join('one')
  await clock.advance(1_000)
  const id = await start()
  // The store gives the delivery to the first process at once, and the answer needs 4.5 seconds.
  const commands = store.commands!
  const { claim } = commands
  let claimedAt: number | undefined
  commands.claim = async (...of) => {
    const claimed = await claim.apply(commands, of)
    if (of[0] === one.id && claimed.length > 0 && claimedAt === undefined) {
      claimedAt = clock.now()
      await sleep(clock, 4_500)
    }
    return claimed
  }
  const running = run(id)
  await reach(() => claimedAt !== undefined)
  await clock.advance(6_000)
  expect(published).toEqual([])
  expect((await until(running)).state).toBe('finished')
  expect(published).toHaveLength(1)
  await until(one.close())
})

it('B18: a process does not send an item if the store needed too long to say that it is its own', async () => {
  const { clock, store, fail, join, start, run, until, reach, published } = deliveryWorld(1)
  await fail()
  const one = await join('one')
  await clock.advance(1_000)
  const id = await start()
  const { get } = store.deadLetters
  let isAsked = false
  store.deadLetters.get = async letterId => {
    const letter = await get.call(store.deadLetters, letterId)
    if (letter?.state === 'replaying' && !isAsked) {
      isAsked = true
      await sleep(clock, 2_000)
    }
    return letter
  }
  const running = run(id)
  await reach(() => isAsked)
  // A runner could have taken the item back while the answer was on its way.
  await clock.advance(2_500)
  expect(published).toEqual([])
  expect((await until(running)).state).toBe('finished')
  expect(published).toHaveLength(1)
  await until(one.close())
})

it('B18: a clock that is set does not lengthen the time in which a process may send', async () => {
  const { clock, store, fail, join, start, run, until, reach, published } = deliveryWorld(1)
  await fail()
  const one = await join('one')
  await clock.advance(1_000)
  const id = await start()
  const { get } = store.deadLetters
  let isAsked = false
  store.deadLetters.get = async letterId => {
    const letter = await get.call(store.deadLetters, letterId)
    if (letter?.state === 'replaying' && !isAsked) {
      isAsked = true
      await sleep(clock, 5_000)
    }
    return letter
  }
  const running = run(id)
  await reach(() => isAsked)
  clock.jump(-60_000)
  await clock.advance(5_500)
  expect(published).toEqual([])
  clock.jump(60_000)
  expect((await until(running)).state).toBe('finished')
  expect(published).toHaveLength(1)
  await until(one.close())
})

it('B18: a process tries again to record what it sent, so that nobody sends the event twice', async () => {
  const { clock, store, fail, join, start, run, until, published } = deliveryWorld(2)
  await fail()
  const one = await join('one')
  await clock.advance(1_000)
  const id = await start({ stages: ['rest'] })
  const refused = refuseRecords(store, (_, { length }) => length < 5)
  expect((await until(run(id))).state).toBe('finished')
  expect(refused).toHaveLength(5)
  expect(published).toHaveLength(2)
  await until(one.close())
})

it('B18: a process tries to record until the delivery is over, and the run goes on after that', async () => {
  const { clock, store, fail, join, start, run, until } = deliveryWorld(1)
  await fail()
  const one = await join('one')
  await clock.advance(1_000)
  const id = await start()
  const startedAt = clock.now()
  let lastAt = 0
  const refused = refuseRecords(store, (delivery, [first = delivery]) => {
    if (delivery === first) lastAt = clock.now()
    return delivery === first
  })
  expect((await until(run(id))).state).toBe('finished')
  // Every half second, while the delivery lasts.
  expect(refused.length).toBeGreaterThan(60)
  expect(lastAt - startedAt).toBeLessThan(GIVE_UP_MS + 2_000)
  await until(one.close())
})

it('B18: a process that leaves does not try for long to record what it sent', async () => {
  const { clock, store, fail, join, start, run, until, reach } = deliveryWorld(1)
  await fail()
  const one = await join('one')
  await clock.advance(1_000)
  const id = await start()
  const refused = refuseRecords(store, () => true)
  void run(id)
  await reach(() => refused.length === 2)
  await until(one.close())
  expect(refused).toHaveLength(3)
  await clock.advance(GIVE_UP_MS)
  expect(refused).toHaveLength(3)
})
