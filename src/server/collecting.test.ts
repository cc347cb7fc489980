import { describe, expect, it } from 'vitest'
import { serverWorld } from '../../test/support/server-world.ts'
import type { Origin } from '../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../core/event/event.ts'
import type { QueueDepth } from '../ports/broker.ts'
import type { Collector } from '../ports/collector.ts'
import type { DeadLetterStore } from '../ports/dead-letters.ts'
import { routeReplays } from '../replay/routes.ts'

class FakeCollector implements Collector {
  readonly name = 'rabbitmq'
  readonly sent: (readonly [LazaretEvent, Origin])[] = []
  into: DeadLetterStore | undefined
  isClosed = false
  depth: number | 'away' = 0

  start(into: DeadLetterStore): void {
    this.into = into
  }

  async stop(): Promise<void> {
    this.into = undefined
  }

  async send(events: readonly LazaretEvent[], origin: Origin): Promise<void> {
    for (const event of events) this.sent.push([event, origin])
  }

  async depths(): Promise<readonly QueueDepth[]> {
    if (this.depth === 'away') throw new Error('away')
    return [{ queue: 'orders.dlq', depth: this.depth }]
  }

  async close(): Promise<void> {
    this.isClosed = true
  }
}

const collected = { broker: 'rabbitmq', collectedFrom: 'orders.dlq', exchange: 'shop', routingKey: 'paid' }

describe('a server that collects', () => {
  it('F8: starts collectors with the store they collect into, and closes them with itself', async () => {
    const collector = new FakeCollector()
    const { ask, store, server } = serverWorld({ collectors: [{ collector }] })
    expect(collector.into).toBeUndefined()
    await ask('/healthz')
    expect(collector.into).toBe(store.deadLetters)
    await server.close()
    expect(collector.isClosed).toBe(true)
  })

  it('F8: of several servers with one store one collects, and the next goes on when it is closed', async () => {
    const collectors = [new FakeCollector(), new FakeCollector()]
    const base = serverWorld()
    const { clock, store: stores } = base
    const servers = collectors.map(collector => serverWorld({ stores, clock, collectors: [{ collector }] }))
    for (const { ask } of servers) await ask('/healthz')
    await clock.advance(60_000)
    expect(collectors.map(({ into }) => into !== undefined)).toEqual([true, false])
    await servers[0]!.server.close()
    await clock.advance(10_000)
    expect(collectors.map(({ into }) => into !== undefined)).toEqual([false, true])
    await servers[1]!.server.close()
  })

  it('F8: a server that changes nothing collects nothing', async () => {
    const collector = new FakeCollector()
    const { ask, server } = serverWorld({ collectors: [{ collector }], readOnly: true })
    await ask('/healthz')
    expect(collector.into).toBeUndefined()
    await server.close()
  })

  it('F6: what lies in dead-letter queues counts, and a broker that is away is DEGRADED', async () => {
    const collector = new FakeCollector()
    const { ask, clock, server } = serverWorld({ collectors: [{ collector }] })
    expect(await ask('/healthz/consumer')).toMatchObject({ status: 200, body: { status: 'UP', dlqSize: 0 } })
    collector.depth = 101
    await clock.advance(2_000)
    expect(await ask('/healthz/consumer')).toMatchObject({
      status: 503,
      body: { status: 'DEGRADED', dlqSize: 101 },
    })
    collector.depth = 'away'
    await clock.advance(2_000)
    expect(await ask('/healthz/consumer')).toMatchObject({
      status: 503,
      body: { status: 'DEGRADED', dlqSize: 0, brokersDown: ['rabbitmq'] },
    })
    await server.close()
  })

  it('F6: a letter is counted once while it is collected, whenever the probes come', async () => {
    const collector = new FakeCollector()
    collector.depth = 1
    const { ask, clock, make, store, server } = serverWorld({ collectors: [{ collector }] })
    const dlqSize = async () => (await ask('/healthz/consumer')).body.dlqSize
    const collect = async () => {
      await store.deadLetters.send(make.letter({ origin: collected }))
      collector.depth = 0
    }
    expect(await dlqSize()).toBe(1)
    await collect()
    for (let round = 0; round < 5; round++) {
      await clock.advance(500)
      expect(await dlqSize()).toBe(1)
    }
    // A probe that asks the stores alone leaves no figures behind that are older than those of the queues.
    collector.depth = 1
    await clock.advance(1_500)
    await ask('/readyz')
    await collect()
    await clock.advance(500)
    expect(await dlqSize()).toBe(2)
    await server.close()
  })

  it('F6: a broker that does not answer is asked once at a time', async () => {
    const collector = new FakeCollector()
    let asked = 0
    collector.depths = () => {
      asked++
      return new Promise(() => {})
    }
    const { ask, clock, server } = serverWorld({ collectors: [{ collector }] })
    const answers = [ask('/healthz/consumer')]
    await clock.advance(1_500)
    answers.push(ask('/healthz/consumer'))
    await clock.advance(1_500)
    for (const { body } of await Promise.all(answers)) expect(body.brokersDown).toEqual(['rabbitmq'])
    expect(asked).toBe(1)
    await server.close()
  })

  it('K8: a replay of a collected letter goes to its collector with its origin, and nowhere else', async () => {
    const collector = new FakeCollector()
    const { ask, tell, bury, make, clock, server } = serverWorld({ collectors: [{ collector }] })
    const [letter] = await bury(make.letter({ origin: collected }))
    const { body } = await tell('/api/v1/replays', { ids: [letter!.id], reason: 'mended' })
    await tell(`/api/v1/replays/${body.id}/start`, {})
    for (let looks = 0; looks < 50 && collector.sent.length === 0; looks++) await clock.advance(100)
    expect(collector.sent).toHaveLength(1)
    const [[event, origin]] = collector.sent as [[LazaretEvent, Origin]]
    expect(origin).toEqual(collected)
    expect(event).toMatchObject({ id: letter!.event.id, headers: { 'x-replay-attempt': '1' } })
    expect((await ask(`/api/v1/dead-letters/${letter!.id}`)).body).toMatchObject({
      state: 'replaying',
      destination: { broker: 'rabbitmq' },
    })
    await server.close()
  })

  it('K8: a collected letter is never sent to another broker', async () => {
    const elsewhere: LazaretEvent[] = []
    const target = routeReplays([], { send: async events => void elsewhere.push(...events) })
    await expect(target!.send([], collected)).rejects.toThrow(
      "it came from broker 'rabbitmq', found in 'orders.dlq', and there is no route to 'rabbitmq'; configure a collector named 'rabbitmq'",
    )
    expect(elsewhere).toEqual([])
  })
})
