import { expect, it } from 'vitest'
import { memoryDeadLetters } from '../../adapters/memory/letters/dead-letters.ts'
import type { CountOptions, DeadLetterStore } from '../../ports/dead-letters.ts'
import { createFactory } from '../../testing/factories.ts'
import { statsOf } from './search-stats.ts'

/** A store that says it has very many letters, and would take long to look through them. */
async function large(matching: number) {
  const make = createFactory()
  const letters = memoryDeadLetters()
  for (let count = 0; count < matching; count++)
    await letters.send(make.letter({ error: new Error('needle') }))
  await letters.send(make.letter())
  const { stats } = letters
  let isLookedThrough = false
  letters.stats = async filter => {
    isLookedThrough ||= filter?.search !== undefined
    return { ...(await stats.call(letters, filter)), count: 1_000_000 }
  }
  return { letters, isLookedThrough: () => isLookedThrough }
}

it('E9: the statistics of a search in very many letters are exact while few are found', async () => {
  const { letters, isLookedThrough } = await large(3)
  expect(await statsOf(letters, { search: 'NEEDLE' })).toMatchObject({
    count: 3,
    byState: { dead: 3 },
    byChannel: { orders: 3 },
  })
  expect(isLookedThrough()).toBe(false)
})

it('E9: where many are found it is told that there are many', async () => {
  const { letters, isLookedThrough } = await large(501)
  expect(await statsOf(letters, { search: 'needle' })).toMatchObject({ count: 500, atLeast: true })
  expect(isLookedThrough()).toBe(false)
})

it('E9: a store that stops counting is asked for no more than people wait for', async () => {
  const letters: DeadLetterStore = memoryDeadLetters()
  const asked: (CountOptions | undefined)[] = []
  letters.stats = async (_, options) => {
    asked.push(options)
    const count = options?.stopAt ?? 1_000_000
    return { count, atLeast: true, oldestAt: 1, newestAt: 2, byState: {}, byReason: {}, byChannel: {} }
  }
  expect(await statsOf(letters, { handler: 'mail' })).toMatchObject({ count: 100_000, atLeast: true })
  expect(await statsOf(letters, { search: 'needle' })).toMatchObject({ count: 0 })
  expect(asked).toEqual([{ stopAt: 100_000 }, { stopAt: 50_000 }])
})

it('E9: in few letters, and without a text, every one is counted', async () => {
  const letters = memoryDeadLetters()
  const make = createFactory()
  for (let count = 0; count < 600; count++) await letters.send(make.letter())
  expect((await statsOf(letters, { search: 'refused' })).count).toBe(600)
  expect((await statsOf(letters, {})).count).toBe(600)
})
