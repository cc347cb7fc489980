import { expect } from 'vitest'
import { memoryBroker } from '../../src/adapters/memory/index.ts'
import { createIdSource } from '../../src/core/event/uuid.ts'
import type { Broker } from '../../src/ports/broker.ts'
import { systemClock } from '../../src/ports/clock.ts'
import type { Store } from '../../src/ports/store.ts'
import { startReplay } from '../../src/replay/control.ts'
import { runReplay } from '../../src/replay/runner.ts'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { DONE } from './stored-format.ts'

/** Works on with a store of an earlier version: a letter more, its planned replay, its audit log, its ledger. */
export async function continueWork(store: Store, broker: Broker = memoryBroker()): Promise<void> {
  await receivesLetter(store)
  await runsPlannedReplay(store, broker)
  const entry = { at: systemClock.now(), by: 'fay', action: 'letter.discard', target: 'a letter' }
  await store.audit.append(entry)
  expect((await store.audit.list({ by: 'fay' })).entries).toMatchObject([entry])
  if (store.ledger !== undefined)
    expect(await store.ledger.claim(DONE.handler, DONE.key, 1_000)).toMatchObject({ kind: 'done' })
}

/** A letter with a known cause joins its group. */
async function receivesLetter({ deadLetters, groups }: Store): Promise<void> {
  const letter = createFactory({ clock: systemClock, random: seededRandom(99) }).letter()
  const group = letter.cycle.failure!.fingerprint.id
  const before = await groups.get(group)
  const { count } = await deadLetters.stats()
  await deadLetters.send(letter)
  expect(await groups.get(group)).toMatchObject({ count: before!.count + 1, waiting: before!.waiting + 1 })
  expect((await deadLetters.list({ limit: 1 })).letters).toMatchObject([{ id: letter.id }])
  expect((await deadLetters.stats()).count).toBe(count + 1)
}

/** The plan that nobody had started when the store was written is run to its end, with its patch. */
async function runsPlannedReplay(store: Store, broker: Broker): Promise<void> {
  const [planned] = await store.replays.list({ state: 'approved' })
  const [item] = await store.replays.items(planned!.id)
  const handled: unknown[] = []
  const consumer = createConsumer({
    ...{ broker, deadLetters: store.deadLetters, channel: 'orders', name: 'bill', leaveOpen: true },
    handle: async ({ payload }) => void handled.push(payload),
  })
  await consumer.start()
  const environment = { clock: systemClock, newId: createIdSource(seededRandom(3)) }
  await startReplay(store, planned!.id, { by: 'eve', clock: systemClock })
  const target = { send: (events: Parameters<Broker['publish']>[0]) => broker.publish(events) }
  const ended = await runReplay(store, planned!.id, { target, environment, owner: 'eve' })
  await consumer.close()
  expect(ended).toMatchObject({ state: 'finished' })
  expect(await store.replays.counts(planned!.id)).toMatchObject({ recovered: 1, waiting: 0 })
  expect(handled).toMatchObject([{ patched: true }])
  expect(await store.deadLetters.get(item!.letterId)).toMatchObject({ state: 'resolved' })
}

/** The event that waited for its retry and the one that no handler had had are both handled, each once. */
export async function handlesWaitingEvents(store: Store, broker: Broker): Promise<void> {
  const handled: string[] = []
  const all = Promise.withResolvers<void>()
  const consumer = createConsumer({
    ...{ broker, deadLetters: store.deadLetters, channel: 'shipping', name: 'ship', leaveOpen: true },
    async handle({ payload }, { attempt }) {
      handled.push(`${(payload as { parcel: string }).parcel}, attempt ${attempt}`)
      if (handled.length === 2) all.resolve()
    },
  })
  await consumer.start()
  await all.promise
  await consumer.close()
  expect(handled.sort()).toEqual(['late, attempt 2', 'next, attempt 1'])
}
