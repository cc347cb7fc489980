import { describe, expect, it } from 'vitest'
import { memoryStore } from '../adapters/memory/store.ts'
import type { DeadLetterStore } from '../ports/dead-letters.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { simulateHistory } from './history/simulate-history.ts'
import { openDemo } from './open-demo.ts'
import type { ShopStore } from './shop.ts'

async function opened() {
  const clock = new FakeClock()
  const store = memoryStore({ clock }) as ShopStore
  const demo = await openDemo({ store, clock, seed: 1, history: await simulateHistory(clock.now(), 1) })
  return { clock, store, demo }
}

async function closed({ clock, demo }: Awaited<ReturnType<typeof opened>>): Promise<void> {
  const closing = demo.close()
  await clock.advance(10_000)
  await closing
}

describe('the demo', () => {
  it('has its history before the first order', async () => {
    const world = await opened()
    const { count } = await world.store.deadLetters.stats()
    expect(count).toBeGreaterThan(80)
    expect(world.demo.control.state().steps.some(({ done }) => done)).toBe(false)
    await closed(world)
  })

  it('B4: puts new failures into the groups of yesterday, and a resolved group regresses', async () => {
    const world = await opened()
    const { store, clock, demo } = world
    const before = (await store.groups.list()).groups
    await demo.start()
    await clock.advance(60_000)
    const after = (await store.groups.list()).groups
    const news = after.filter(({ id }) => !before.some(group => group.id === id))
    expect(news.map(({ title }) => title)).toEqual([
      "TypeError: Cannot read properties of undefined (reading 'country')",
    ])
    const regressed = after.filter(group => group.regressed)
    expect(regressed.map(({ title, state }) => [title.slice(0, 25), state])).toEqual([
      ['HttpError: 404 no article', 'open'],
    ])
    await closed(world)
  })

  it('closes its store', async () => {
    const world = await opened()
    await world.demo.start()
    await closed(world)
    const letters: DeadLetterStore = world.store.deadLetters
    await expect(letters.stats()).rejects.toMatchObject({ code: 'LAZARET_DEAD_LETTERS_CLOSED' })
  })
})
