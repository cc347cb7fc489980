import { describe, expect, it } from 'vitest'
import { serverWorld } from '../../test/support/server-world.ts'
import { createConsumer } from '../runtime/consumer/consumer.ts'
import { joinFleet } from '../runtime/fleet/join-fleet.ts'

const MINUTE_MS = 60_000
const NO_TOTAL = new TypeError('no total')

async function world() {
  const base = serverWorld()
  const { store, clock, make, bury, ask } = base
  const consumer = createConsumer({
    ...{ broker: store.broker!, channel: 'orders', name: 'bill', clock },
    deadLetters: store.deadLetters,
    handle: () => {},
  })
  await consumer.start()
  return {
    ...base,
    async deploy(release: string) {
      joinFleet({ store, service: 'shop', release, consumers: [consumer], clock })
      await clock.advance(0)
    },
    async fail(release: string | undefined, error: Error = NO_TOTAL) {
      const [newest] = await bury(make.letter({ error, ...(release !== undefined && { release }) }))
      return newest!.cycle.failure!.fingerprint.id
    },
    timelineOf: async (group: string) => (await ask(`/api/v1/groups/${group}/timeline`)).body,
  }
}

describe('the timeline of a group', () => {
  it('F8, B17: counts letters since the first failure, and marks the releases of its processes', async () => {
    const { deploy, fail, timelineOf, clock } = await world()
    await deploy('2.3.0')
    await clock.advance(10 * MINUTE_MS)
    await deploy('2.4.0')
    await clock.advance(3 * MINUTE_MS - 1_000)
    const group = await fail('2.4.0')
    await clock.advance(20 * MINUTE_MS)
    await fail('2.4.0')
    const body = await timelineOf(group)
    expect(body.began).toEqual({ release: '2.4.0', afterMs: 3 * MINUTE_MS, since: 'process' })
    expect(body.releases.map((each: { release: string }) => each.release)).toEqual(['2.4.0'])
    expect(body.counts.reduce((sum: number, each: number) => sum + each, 0)).toBe(2)
    expect(body.counts.at(-1)).toBe(1)
    expect(body.bucketMs).toBe(MINUTE_MS)
    expect(body.examined).toBe(2)
  })

  it('F8: says nothing of the beginning without an earlier release, or without a release', async () => {
    const { deploy, fail, timelineOf } = await world()
    await deploy('2.4.0')
    expect((await timelineOf(await fail('2.4.0'))).began).toBeUndefined()
    const without = await timelineOf(await fail(undefined, new RangeError('limit')))
    expect(without.began).toBeUndefined()
    expect(without.counts).toHaveLength(1)
  })

  it('F8: reads a bounded number of letters, however many the group has', async () => {
    const { fail, timelineOf, store } = await world()
    let group = ''
    for (let index = 0; index < 160; index++) group = await fail('2.4.0')
    const limits: (number | undefined)[] = []
    const { deadLetters } = store
    const list = deadLetters.list.bind(deadLetters)
    deadLetters.list = query => {
      limits.push(query?.limit)
      return list(query)
    }
    expect((await timelineOf(group)).examined).toBe(150)
    expect(limits.every(limit => limit !== undefined && limit <= 100)).toBe(true)
  })

  it('F8: an unknown group has none', async () => {
    const { ask } = await world()
    expect((await ask('/api/v1/groups/none/timeline')).status).toBe(404)
  })
})
