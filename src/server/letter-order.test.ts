import { describe, expect, it } from 'vitest'
import { serverWorld } from '../../test/support/server-world.ts'
import { memoryStore } from '../adapters/memory/store.ts'
import { LETTER_SORTS, SORT_DIRECTIONS } from '../ports/dead-letters.ts'
import { createFactory } from '../testing/factories.ts'
import { FakeClock } from '../testing/fake-clock.ts'

interface Listed {
  readonly id: string
  readonly attempts: number
  readonly channel: string
  readonly lastFailedAt: string
}

/** Two stores with letters by turns, a second apart, which differ in channel and attempts. */
async function twoStores() {
  const clock = new FakeClock()
  const make = createFactory({ clock })
  const stores = { shop: memoryStore({ clock }), office: memoryStore({ clock }) }
  for (let index = 0; index < 12; index++) {
    await clock.advance(1_000)
    const attempts = Array.from({ length: 1 + (index % 3) }, (_, at) => make.attempt(at + 1))
    const letter = make.letter({ channel: `channel-${index % 4}`, at: clock.now(), attempts })
    await stores[index % 2 === 0 ? 'shop' : 'office'].deadLetters.send(letter)
  }
  const world = serverWorld({ stores, clock })
  const pages = async (query: string): Promise<readonly Listed[]> => {
    const listed: Listed[] = []
    let start = query
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const { body } = await world.ask(`/api/v1/dead-letters?limit=5&${start}${cursor}`)
      listed.push(...body.letters)
      cursor = body.cursor && `&cursor=${encodeURIComponent(body.cursor)}`
      start = query.replace(/&?startAt=[^&]*/, '')
    }
    return listed
  }
  return { ...world, clock, pages }
}

describe('the order of letters over HTTP', () => {
  it('E9: letters of several stores are one list in every order, without gaps and repetitions', async () => {
    const { pages } = await twoStores()
    for (const sort of LETTER_SORTS)
      for (const order of SORT_DIRECTIONS) {
        const ids = (await pages(`sort=${sort}&order=${order}`)).map(({ id }) => id)
        expect(new Set(ids).size, `${sort} ${order}`).toBe(12)
        expect(ids, `${sort} ${order}`).toHaveLength(12)
      }
    const attempts = (await pages('sort=attempts')).map(each => each.attempts)
    expect(attempts).toEqual(attempts.toSorted((a, b) => b - a))
    const channels = (await pages('sort=channel')).map(each => each.channel)
    expect(channels).toEqual(channels.toSorted())
  })

  it('E9: a letter that two stores have is listed for both, wherever a page ends', async () => {
    const clock = new FakeClock()
    const make = createFactory({ clock })
    const stores = { shop: memoryStore({ clock }), office: memoryStore({ clock }) }
    for (const letter of [make.letter(), make.letter(), make.letter()])
      for (const { deadLetters } of Object.values(stores)) await deadLetters.send(letter)
    const { ask } = serverWorld({ stores, clock })
    for (const limit of [1, 2, 3, 5]) {
      const listed: string[] = []
      for (let cursor: string | undefined = ''; cursor !== undefined; ) {
        const { body } = await ask(`/api/v1/dead-letters?limit=${limit}${cursor}`)
        listed.push(...body.letters.map(({ store, id }: { store: string; id: string }) => `${store} ${id}`))
        cursor = body.cursor && `&cursor=${encodeURIComponent(body.cursor)}`
      }
      expect(listed, `limit ${limit}`).toHaveLength(6)
      expect(new Set(listed).size, `limit ${limit}`).toBe(6)
    }
  })

  it('E9: a list starts at a time and goes on from there', async () => {
    const { pages, clock, ask } = await twoStores()
    const startAt = new Date(clock.now() - 5_500).toISOString()
    const older = await pages(`startAt=${startAt}`)
    expect(older).toHaveLength(6)
    expect(older.every(({ lastFailedAt }) => lastFailedAt < startAt)).toBe(true)
    expect(await pages(`order=asc&sort=lastFailed&startAt=${startAt}`)).toHaveLength(6)
    const refused = await ask(`/api/v1/dead-letters?sort=channel&startAt=${startAt}`)
    expect(refused.status).toBe(400)
    expect((await ask('/api/v1/dead-letters?sort=colour')).status).toBe(400)
  })
})
