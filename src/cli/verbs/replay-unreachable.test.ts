import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { createWorldAfterOutage, removeFolders } from '../../../test/support/cli-replay.ts'

afterEach(removeFolders)

/** Two letters of the store's own broker, one of a sink, one of a wrapped function, and one of RabbitMQ. */
async function mixed() {
  const it = await createWorldAfterOutage(2)
  it.shop.isBroken = false
  await it.bury(
    it.factory.letter({ handler: 'loki', origin: {} }),
    it.factory.letter({ handler: 'charge', origin: undefined }),
    it.factory.letter({ handler: 'bill', origin: { broker: 'rabbitmq', queue: 'orders' } }),
  )
  return it
}

describe('letters that nothing here can send', () => {
  it('B18: the plan says so for each of them with the reason, and they are not sent', async () => {
    const { lazaret, running, store, shop } = await mixed()
    const planned = await lazaret('replay', 'plan', '--reason', 'mended')
    expect(planned.out).toContain('2 letters will be sent')
    expect(planned.out).toContain('3 letters skipped: no replay target here')
    expect(planned.out).toContain('it did not come from a broker')
    expect(planned.out).toContain("it came from broker 'rabbitmq'")
    const [replay] = await store.replays.list()
    expect(replay!.findings).toEqual({ replay: 2, skip_unreachable: 3 })
    const { code, json } = await running({}, 'replay', 'start', replay!.id, '--json')
    expect(code).toBe(0)
    expect(json).toMatchObject([{ state: 'finished', outcomes: { recovered: 2, skipped: 3 } }])
    expect(shop.handled).toHaveLength(2)
    expect((await store.deadLetters.stats()).byState).toEqual({ resolved: 2, dead: 3 })
  })

  it('B18: a plan made where they could be sent is run here without them', async () => {
    const { running, store, plan } = await mixed()
    const id = await plan()
    const items = await store.replays.items(id)
    await store.replays.record(
      id,
      items.map(({ reason: _, endedAt: __, ...item }) => ({
        ...item,
        decision: 'replay',
        status: 'waiting',
      })),
    )
    const { json } = await running({}, 'replay', 'start', id, '--json')
    expect(json).toMatchObject([{ state: 'finished', outcomes: { recovered: 2, skipped: 3 } }])
    expect(await store.replays.items(id, { status: 'skipped' })).toMatchObject(
      Array.from({ length: 3 }, () => ({ decision: 'skip_unreachable', reason: expect.any(String) })),
    )
    expect((await store.deadLetters.stats()).byState).toEqual({ resolved: 2, dead: 3 })
  })

  it('B13, B18: go to a channel of the own broker when the plan names one', async () => {
    const { running, plan, store, shop } = await mixed()
    const id = await plan('--to', 'orders')
    expect((await store.replays.get(id))?.findings).toEqual({ replay: 5 })
    const { json } = await running({}, 'replay', 'start', id, '--json')
    expect(json).toMatchObject([{ state: 'finished', outcomes: { recovered: 5 } }])
    expect(shop.handled).toHaveLength(5)
  })

  it('B18: a broker of the config is the route of letters of its name, and connects only to send', async () => {
    const { plan, store, folder } = await mixed()
    const config = 'brokers: { rabbitmq: { url: "amqp://localhost:1" } }\n'
    await writeFile(join(folder, 'lazaret.yaml'), config)
    expect((await store.replays.get(await plan()))?.findings).toEqual({ replay: 3, skip_unreachable: 2 })
  })

  it('B18: a broker of the config with the name of the own broker is refused', async () => {
    const { lazaret, store, folder } = await mixed()
    const config = 'brokers: { memory: { url: "redis://u:secret@localhost:1" } }\n'
    await writeFile(join(folder, 'lazaret.yaml'), config)
    const { code, err } = await lazaret('replay', 'plan', '--reason', 'mended')
    expect(code).toBe(1)
    expect(err).toContain('brokers.memory: memory: has a broker of the same name')
    expect(err).not.toContain('secret')
    expect(await store.replays.list()).toEqual([])
  })

  it('B18: a collector of the config is the route of letters of its broker', async () => {
    const { plan, store, folder } = await mixed()
    const config = 'collectors: { rabbitmq: { url: "amqp://localhost:1", queues: [orders.dlq] } }\n'
    await writeFile(join(folder, 'lazaret.yaml'), config)
    expect((await store.replays.get(await plan()))?.findings).toEqual({ replay: 3, skip_unreachable: 2 })
  })
})
