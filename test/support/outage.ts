import { memoryStore } from '../../src/adapters/memory/index.ts'
import { createEvent } from '../../src/core/event/event.ts'
import { createIdSource } from '../../src/core/event/uuid.ts'
import type { Replay } from '../../src/ports/replays.ts'
import { startReplay } from '../../src/replay/control.ts'
import { planReplay } from '../../src/replay/plan.ts'
import type { PlanRequest } from '../../src/replay/plan-options.ts'
import { runReplay } from '../../src/replay/runner.ts'
import type { ReplayEnvironment, ReplayTarget } from '../../src/replay/target.ts'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'
import type { ConsumerOptions } from '../../src/runtime/consumer/consumer-options.ts'
import { sleep } from '../../src/runtime/sleep.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'

const down = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })

/** A channel whose consumer has given up on so many events, on a driven clock. */
export async function createWorldAfterOutage(letters: number, more: Partial<ConsumerOptions> = {}) {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  const newId = createIdSource(seededRandom(5))
  const environment: ReplayEnvironment = { clock, newId }
  const handled: string[] = []
  const world = { broken: (_id: string) => true, handlerMs: 0 }
  const consumer = createConsumer({
    broker: store.broker!,
    channel: 'orders',
    deadLetters: store.deadLetters,
    clock,
    concurrency: 5,
    retry: { attempts: 1 },
    breaker: 'off',
    autoReplay: () => true,
    handle: async event => {
      if (world.handlerMs > 0) await sleep(clock, world.handlerMs)
      if (world.broken(event.id)) throw down()
      handled.push(event.id)
    },
    ...more,
  })
  await consumer.start()
  const events = Array.from({ length: letters }, (_, n) =>
    createEvent(
      { type: 'order.placed', channel: 'orders', payload: { n, total: 'ten' } },
      { now: clock.now(), newId },
    ),
  )
  await store.broker!.publish(events)
  await clock.advance(1_000)
  const plan = (request: Partial<PlanRequest> = {}) =>
    planReplay(store, { reason: 'mended', by: 'ann', perSecond: 1_000, ...request }, environment)
  const sends: { readonly id: string; readonly at: number; readonly by: string }[] = []
  const targetOf = (by: string): ReplayTarget => ({
    async send(batch) {
      sends.push(...batch.map(({ id }) => ({ id, at: clock.now(), by })))
      await store.broker!.publish(batch)
    },
  })
  const target = targetOf('runner')
  const run = async (replay: Replay, forMs = 60_000, signal?: AbortSignal) => {
    const ended = runReplay(store, replay.id, { target, environment, owner: 'runner', signal })
    let result: Replay | undefined
    ended.then(
      value => {
        result = value
      },
      () => {},
    )
    for (let ms = 0; result === undefined && ms < forMs; ms += 100) await clock.advance(100)
    return ended
  }
  /** Runs it beside the test; the promise answers what it came to, an error's message included. */
  const runAs = (owner: string, { id }: Replay, signal?: AbortSignal): Promise<Replay | string> =>
    runReplay(store, id, { target: targetOf(owner), environment, owner, signal }).catch(
      error => error.message,
    )
  /** Runs it for so long, stops it, and waits until it has ended. */
  const runFor = async (ms: number, owner: string, replay: Replay): Promise<void> => {
    const stop = new AbortController()
    const ended = runAs(owner, replay, stop.signal)
    await clock.advance(ms)
    stop.abort()
    await clock.advance(1_000)
    await ended
  }
  const start = (replay: Replay) => startReplay(store, replay.id, { by: 'ann', clock })
  const ann = { by: 'ann', clock }
  return {
    ...{ clock, store, environment, handled, world, consumer, events },
    ...{ plan, run, runAs, runFor, start, target, targetOf, sends, ann },
  }
}
