import { describe, expect, it } from 'vitest'
import { type ServerWorld, serverWorld } from '../../test/support/server-world.ts'

const PATHS = ['/readyz', '/healthz/consumer']

/** Counts how often the store is asked for its figures, and can keep it from answering. */
function watchStats({ store }: ServerWorld) {
  const { stats } = store.deadLetters
  const seen = { asked: 0, answers: undefined as Promise<void> | undefined }
  store.deadLetters.stats = async filter => {
    seen.asked++
    await seen.answers
    return stats.call(store.deadLetters, filter)
  }
  return seen
}

describe('probes without a token', () => {
  it('F6: however often they come, the store is asked once a second', async () => {
    const world = serverWorld()
    const seen = watchStats(world)
    for (let round = 0; round < 50; round++)
      await Promise.all(PATHS.map(async path => expect((await world.ask(path)).status).toBe(200)))
    expect(seen.asked).toBe(1)
    await world.clock.advance(999)
    await world.ask('/readyz')
    expect(seen.asked).toBe(1)
    await world.clock.advance(1)
    await world.ask('/healthz/consumer')
    expect(seen.asked).toBe(2)
  })

  it('F6: those that come while a slow store is asked wait for the same answer', async () => {
    const world = serverWorld()
    const seen = watchStats(world)
    let answer = () => {}
    seen.answers = new Promise(resolve => {
      answer = resolve
    })
    const asked = [world.ask('/readyz')]
    await world.clock.advance(3_000)
    asked.push(world.ask('/readyz'), world.ask('/healthz/consumer'))
    await world.clock.advance(100)
    expect(seen.asked).toBe(1)
    answer()
    for (const { status } of await Promise.all(asked)) expect(status).toBe(200)
  })

  it('F6: a store that is down is asked no more often either', async () => {
    const world = serverWorld()
    let asked = 0
    world.store.deadLetters.stats = () => {
      asked++
      return Promise.reject(new Error('down'))
    }
    for (let round = 0; round < 10; round++)
      for (const path of PATHS) expect((await world.ask(path)).status).toBe(503)
    expect(asked).toBe(1)
  })

  it('F6: a clock that is set back does not keep an old answer', async () => {
    const world = serverWorld()
    const seen = watchStats(world)
    await world.ask('/readyz')
    world.clock.jump(-600_000)
    await world.clock.advance(1_000)
    await world.ask('/readyz')
    expect(seen.asked).toBe(2)
  })
})
