import { describe, expect, it } from 'vitest'
import { askServer } from '../../../test/support/server-world.ts'
import { MINUTE_MS, saveManyLetters, watchingWorld, watchOf } from '../../../test/support/watching-world.ts'
import { memoryStore } from '../../adapters/memory/store.ts'
import { createServer } from '../index.ts'

describe('the trend', () => {
  it('K7: is shown with the channel, and its snapshots can be asked for', async () => {
    const world = watchingWorld()
    await saveManyLetters(world, 10)
    await world.ask('/healthz')
    await world.minute(1)
    expect(await watchOf(world)).toMatchObject({ trend: 'unknown', depths: [10, 10] })
    await world.minute(4)
    expect(await watchOf(world)).toMatchObject({ trend: 'stable' })
    await saveManyLetters(world, 10)
    await world.minute(5)
    expect(await watchOf(world)).toMatchObject({
      trend: 'rising',
      depth: 20,
      averageRetries: expect.any(Number),
      errors: [{ count: 20, share: 1 }],
    })
    const { body } = await world.ask('/api/v1/channels/orders/trend?hours=1')
    expect(body.points.map(({ depth }: { depth: number }) => depth)).toEqual([
      ...Array(6).fill(10),
      ...Array(5).fill(20),
    ])
    expect((await world.ask('/api/v1/channels/nobody/trend')).body.points).toEqual([])
    expect((await world.ask('/api/v1/channels/orders/trend?hours=1000')).status).toBe(400)
    await world.server.close()
  })

  it('K7: of a long time is drawn with few points, and no peak is missing', async () => {
    const world = watchingWorld({ watch: 'off' })
    const { clock, store } = world
    const at = clock.now()
    await store.snapshots.append(
      Array.from({ length: 5_000 }, (_, index) => ({
        v: 1 as const,
        at: at - index * MINUTE_MS,
        channel: 'orders',
        depth: index === 2_222 ? 9_000 : 7,
        overAge: 0,
        averageRetries: 0,
        sampled: 0,
        errors: [],
      })),
    )
    const { body } = await world.ask('/api/v1/channels/orders/trend?hours=168')
    expect(body.points.length).toBeLessThanOrEqual(240)
    expect(body.points.length).toBeGreaterThan(200)
    const depths = body.points.map(({ depth }: { depth: number }) => depth)
    expect(Math.max(...depths)).toBe(9_000)
    expect(body.points.at(-1).at).toBe(new Date(at).toISOString())
    await world.server.close()
  })

  it('K7: of several stores is that of all together', async () => {
    const [shop, mail] = [memoryStore(), memoryStore()]
    const world = watchingWorld({ stores: { shop, mail } })
    for (const [store, count] of [
      [shop, 60],
      [mail, 90],
    ] as const)
      for (let index = 0; index < count; index++)
        await store.deadLetters.send(world.make.letter({ channel: 'orders' }))
    await world.ask('/healthz')
    await world.minute(3)
    const watch = await watchOf(world)
    expect(watch).toMatchObject({ depth: 150, sampled: 150, trend: 'stable' })
    expect(watch.errors).toMatchObject([{ count: 150, share: 1 }])
    // The limit is one of a channel in a store: one team owns a store.
    expect(watch.alerts.map(({ store, rule }: { store: string; rule: string }) => [store, rule])).toEqual([
      ['shop', 'dominance'],
      ['mail', 'dominance'],
    ])
    await world.server.close()
  })

  it('K7: goes on when the clock was set back, without what lies in its future', async () => {
    const world = watchingWorld()
    await saveManyLetters(world, 10)
    await world.ask('/healthz')
    await world.minute(30)
    world.clock.jump(-6 * 60 * MINUTE_MS)
    await saveManyLetters(world, 10)
    await world.minute(12)
    expect(await watchOf(world)).toMatchObject({ depth: 20, depths: Array(10).fill(20), trend: 'stable' })
    const { body } = await world.ask('/api/v1/channels/orders/trend?hours=1')
    expect(body.points.every(({ at }: { at: string }) => at <= body.to)).toBe(true)
    await world.server.close()
  })

  it('K7: consoles are told that there is a new snapshot', async () => {
    const world = watchingWorld()
    await saveManyLetters(world, 1)
    const response = await world.server.fetch(
      new Request('http://127.0.0.1:4600/api/v1/stream', { headers: { host: '127.0.0.1:4600' } }),
    )
    await world.minute(2)
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let said = ''
    while (!said.includes('"channels"')) said += (await reader.read()).value ?? ''
    expect(said).toContain('event: change')
    await reader.cancel()
    await world.server.close()
  })
})

it('K7: options that cannot be meant are told all at once', async () => {
  const options = { stores: memoryStore(), watch: { everyMs: 5, dominance: 50, dept: 3 } as object }
  expect(() => createServer(options)).toThrow(/everyMs[\s\S]*dominance|dominance[\s\S]*everyMs/)
  expect(() => createServer(options)).toThrow(/did you mean 'depth'/)
  const off = createServer({ stores: memoryStore(), watch: 'off', consoleDir: 'none' })
  expect((await askServer(off, '/api/v1/overview')).body.alerts).toEqual([])
  await off.close()
})
