import { describe, expect, it } from 'vitest'
import { memoryBroker, memorySink } from '../src/adapters/memory/index.ts'
import { memoryStore } from '../src/adapters/memory/store.ts'
import type { Broker } from '../src/ports/broker.ts'
import type { Collector } from '../src/ports/collector.ts'
import { replayToBroker } from '../src/replay/routes.ts'
import { sinkReplays } from '../src/replay/sink-replays.ts'
import { createConsumer } from '../src/runtime/consumer/consumer.ts'
import { createDispatcher } from '../src/runtime/dispatcher/dispatcher.ts'
import type { ServerOptions } from '../src/server/index.ts'
import { createFactory } from '../src/testing/factories.ts'
import { FakeClock } from '../src/testing/fake-clock.ts'
import { serverWorld } from './support/server-world.ts'

/**
 * One store with letters of its own broker, of RabbitMQ and of a sink. The two handlers and the sink have one name, and both
 * brokers have the channel, so that a letter on a wrong route is handled by someone else.
 */
async function createMixedWorld() {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  const rabbitmq = memoryBroker({ name: 'rabbitmq', clock })
  const sink = memorySink()
  const factory = createFactory({ clock })
  const world = { isBroken: true, handled: [] as string[] }
  const handledBy = (who: string, id: string) => {
    if (world.isBroken) throw new Error('out of order')
    world.handled.push(`${who}: ${id}`)
  }
  const settings = { deadLetters: store.deadLetters, clock, retry: { attempts: 1 }, breaker: 'off' } as const
  const consume = async (broker: Broker, eventId: string) => {
    const handle = (event: { readonly id: string }) => handledBy(broker.name, event.id)
    await createConsumer({ ...settings, broker, channel: 'orders', name: 'bill', handle }).start()
    await broker.publish([factory.event({ id: eventId })])
  }
  await consume(store.broker!, 'of-store')
  await consume(rabbitmq, 'of-rabbitmq')
  const bill: typeof sink.write = async (batch, context) => {
    for (const { id } of batch) handledBy('sink', id)
    return sink.write(batch, context)
  }
  const dispatcher = createDispatcher({ ...settings, sinks: { bill: { write: bill } } })
  const tracked = dispatcher.track({ id: 'of-sink', channel: 'orders', type: 'order.placed' })
  tracked.catch(() => {})
  await clock.advance(5_000)
  world.isBroken = false
  /** Replays all letters in a server with these options; answers the findings, the states, and who handled what. */
  const replayAll = async (options: Partial<ServerOptions>) => {
    const { tell, server } = serverWorld({ stores: store, clock, ...options })
    const { id, findings } = (
      await tell('/api/v1/replays', { filter: {}, reason: 'mended', stages: ['rest'] })
    ).body
    await tell(`/api/v1/replays/${id}/start`, {})
    await clock.advance(10_000)
    const { byState } = await store.deadLetters.stats()
    await server.close()
    return { findings, byState, handled: world.handled.toSorted() }
  }
  const collector: Collector = {
    name: 'rabbitmq',
    start: () => {},
    stop: async () => {},
    send: events => rabbitmq.publish(events),
    depths: async () => [],
    close: async () => {},
  }
  return { store, rabbitmq, collector, sinks: sinkReplays(dispatcher, store.deadLetters), replayAll }
}

const OF_STORE = 'memory: of-store'
const OF_RABBITMQ = 'rabbitmq: of-rabbitmq'
const OF_SINK = 'sink: of-sink'

describe('B18, E17: letters of several brokers and a sink in one store', () => {
  it('B18: go back to where each failed, those of another broker through its collector', async () => {
    const { replayAll, collector, sinks } = await createMixedWorld()
    expect(await replayAll({ collectors: [{ collector }], replayTarget: sinks })).toEqual({
      findings: { replay: 3 },
      byState: { resolved: 3 },
      handled: [OF_STORE, OF_RABBITMQ, OF_SINK],
    })
  })

  it('B18: go back to another broker through the replay target of the server', async () => {
    const { replayAll, rabbitmq, sinks } = await createMixedWorld()
    expect(await replayAll({ replayTarget: replayToBroker(rabbitmq, sinks) })).toEqual({
      findings: { replay: 3 },
      byState: { resolved: 3 },
      handled: [OF_STORE, OF_RABBITMQ, OF_SINK],
    })
  })

  it.each([
    ['neither collector nor target', false, false, [OF_STORE]],
    ['a collector alone', true, false, [OF_STORE, OF_RABBITMQ]],
    ['a target for sinks alone', false, true, [OF_STORE, OF_SINK]],
  ])('B18: stay dead without a route of their own: %s', async (_, hasCollector, hasSinks, handled) => {
    const { replayAll, collector, sinks } = await createMixedWorld()
    const replayed = await replayAll({
      ...(hasCollector ? { collectors: [{ collector }] } : {}),
      ...(hasSinks ? { replayTarget: sinks } : {}),
    })
    expect(replayed).toEqual({
      findings: { replay: handled.length, skip_unreachable: 3 - handled.length },
      byState: { resolved: handled.length, dead: 3 - handled.length },
      handled,
    })
  })
})
