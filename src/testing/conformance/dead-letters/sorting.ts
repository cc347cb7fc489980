import assert from 'node:assert/strict'
import {
  compareLetters,
  type LetterOrder,
  letterPosition,
  orderOf,
} from '../../../adapter-kit/query/letter-order.ts'
import { letterMatcher } from '../../../adapter-kit/query/letter-query.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { Random } from '../../../core/random.ts'
import { LETTER_SORTS, type LetterFilter, SORT_DIRECTIONS } from '../../../ports/dead-letters.ts'
import { seededRandom } from '../../seeded-random.ts'
import { assortedLetters } from './samples.ts'
import { type DeadLetterStoreConformance, inLetterWorld, type LetterWorld } from './suite.ts'

const MANY = 60

/** Letters that differ in their first failures and attempts too, with many equal values. */
function unlikeLetters(world: LetterWorld, random: Random): DeadLetter[] {
  const draw = (below: number) => Math.floor(random() * below)
  return assortedLetters(world, MANY, random).map(letter => {
    const firstFailedAt = letter.cycle.lastFailedAt - draw(4) * 500
    return { ...letter, cycle: { ...letter.cycle, firstFailedAt, attemptCount: 1 + draw(3) } }
  })
}

function sortedIds(letters: readonly DeadLetter[], order: LetterOrder): string[] {
  const placed = letters.map(letter => letterPosition(letter, order))
  return placed.sort((a, b) => compareLetters(a, b, order)).map(({ id }) => id)
}

/** Every order of a list, in both directions: pages, filters, and a start at a time. */
export function sortingTests(suite: DeadLetterStoreConformance): void {
  const it = inLetterWorld(suite)

  for (const sort of LETTER_SORTS)
    it(`E9: letters are sorted by ${sort}, in both directions, page by page`, async world => {
      const letters = unlikeLetters(world, seededRandom(LETTER_SORTS.indexOf(sort)))
      await world.send(...letters)
      for (const order of [undefined, ...SORT_DIRECTIONS])
        for (const limit of [7, MANY]) {
          const pages = await world.pages({ sort, order, limit })
          assert.equal(pages.length, Math.ceil(MANY / limit), 'the last page has no cursor')
          const expected = sortedIds(letters, orderOf({ sort, order }))
          assert.deepEqual(
            pages.flat().map(({ id }) => id),
            expected,
            `${sort} ${order}, pages of ${limit}`,
          )
        }
    })

  it('E9: every order keeps every filter', async world => {
    const letters = unlikeLetters(world, seededRandom(21))
    await world.send(...letters)
    const { channel, state, cycle, event } = letters[0]!
    const filters: LetterFilter[] = [
      { channel },
      { state, type: event.type },
      { after: cycle.lastFailedAt - 1, before: cycle.lastFailedAt + 1 },
      { channel, before: cycle.lastFailedAt },
      { search: 'econnREFUSED' },
      { channel: 'no-such-channel' },
    ]
    for (const filter of filters) {
      const expected = letters.filter(letterMatcher(filter))
      for (const sort of LETTER_SORTS)
        for (const order of SORT_DIRECTIONS) {
          const found = (await world.pages({ ...filter, sort, order, limit: 9 })).flat()
          const ids = sortedIds(expected, orderOf({ sort, order }))
          assert.deepEqual(
            found.map(({ id }) => id),
            ids,
            `${sort} ${order} of ${JSON.stringify(filter)}`,
          )
        }
    }
  })

  it('E9: letters that stay are listed once in every order, while others come and go between pages', async world => {
    for (const sort of ['firstFailed', 'attempts', 'state'] as const) {
      const letters = unlikeLetters(world, seededRandom(30))
      await world.send(...letters)
      const deleted = new Set<string>()
      const pages = await world.pages({ sort, limit: 9 }, async page => {
        const gone = letters[(page * 7) % letters.length]!
        await world.store.delete(gone.id)
        deleted.add(gone.id)
        await world.send(...assortedLetters(world, 2, seededRandom(page)))
      })
      const shown = pages.flat().map(({ id }) => id)
      assert.equal(new Set(shown).size, shown.length, `${sort}: none is shown twice`)
      const missed = letters.filter(({ id }) => !deleted.has(id) && !shown.includes(id))
      assert.deepEqual(
        missed.map(letter => letterPosition(letter)),
        [],
        sort,
      )
    }
  })

  it('E9: a list starts at a time, in both directions, and goes on from there', async world => {
    const letters = unlikeLetters(world, seededRandom(40))
    await world.send(...letters)
    for (const sort of ['lastFailed', 'firstFailed'] as const)
      for (const direction of SORT_DIRECTIONS) {
        const order = orderOf({ sort, order: direction })
        const timeOf = (letter: DeadLetter) => letter.cycle[`${sort}At`]
        const startAt = timeOf(letters[5]!)
        const expected = letters.filter(letter =>
          order.isDescending ? timeOf(letter) <= startAt : timeOf(letter) >= startAt,
        )
        const first = await world.store.list({ sort, order: direction, startAt, limit: 5 })
        const rest =
          first.cursor === undefined
            ? []
            : (await world.store.list({ sort, order: direction, cursor: first.cursor, limit: MANY })).letters
        assert.deepEqual(
          [...first.letters, ...rest].map(({ id }) => id),
          sortedIds(expected, order),
          `${sort} ${direction}`,
        )
      }
  })

  it('E9: a cursor of another order, and a start in a list that is not by time, are refused', async world => {
    await world.send(...unlikeLetters(world, seededRandom(50)))
    const { cursor } = await world.store.list({ sort: 'attempts', limit: 5 })
    assert(cursor !== undefined, 'there is a next page')
    for (const query of [
      { cursor },
      { sort: 'attempts', order: 'asc', cursor },
      { sort: 'channel', cursor },
      { sort: 'attempts', channel: 'orders', cursor },
      { sort: 'channel', startAt: 1 },
      { sort: 'attempts', cursor, startAt: 1 },
      JSON.parse('{"sort":"colour"}'),
    ] as const)
      await assert.rejects(world.store.list(query), { name: 'OptionsError' }, JSON.stringify(query))
  })
}
