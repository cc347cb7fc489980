import assert from 'node:assert/strict'
import { letterMatcher } from '../../../adapter-kit/query/letter-query.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { LetterFilter, SeenLetter } from '../../../ports/dead-letters.ts'
import { seededRandom } from '../../seeded-random.ts'
import { sortedIds } from '../harness.ts'
import { filtersFor } from './listing.ts'
import { assortedLetters } from './samples.ts'
import { type DeadLetterStoreConformance, inLetterWorld, type LetterWorld } from './suite.ts'

const MANY = 80

/** What a purge does: it reads the versions of many letters, and deletes those that are still the same. */
export function deletingTests(suite: DeadLetterStoreConformance): void {
  const it = inLetterWorld(suite)

  it('F8: versions returns every letter that matches once, as it is', async world => {
    const letters = assortedLetters(world, MANY, seededRandom(13))
    await world.send(...letters)
    for (const filter of [undefined, ...filtersFor(letters)]) {
      const matching = letters.filter(letterMatcher(filter ?? {}))
      const [found, expected] = [await readVersions(world, filter), matching.map(versionOf)]
      assert.deepEqual(found.sort(byId), expected.sort(byId), `filter ${JSON.stringify(filter)}`)
    }
  })

  it('F8: deleteMany deletes the letters that are as they were seen, and returns their ids', async world => {
    const { store, make } = world
    const letters = Array.from({ length: 12 }, () => make.letter())
    await world.send(...letters)
    const seen = (await readVersions(world)).toReversed()
    const [parked, again] = [letters[3]!, letters[7]!]
    await store.change(parked.id, { to: 'parked', at: parked.updatedAt + 1 })
    await store.send(world.letterAt(again.cycle.lastFailedAt + 60_000, { event: again.event, replay: 1 }))
    const gone = letters.filter(({ id }) => id !== parked.id && id !== again.id)
    const unknown = { ...seen[0]!, id: 'no-such-id' }
    assert.deepEqual([...(await store.deleteMany([...seen, unknown]))].sort(), sortedIds(gone))
    assert.deepEqual(await store.deleteMany(seen), [], 'they are gone already')
    assert.deepEqual(await store.deleteMany([]), [])
    assert.deepEqual(sortedIds((await store.list()).letters), sortedIds([parked, again]))
    assert.equal((await store.stats()).count, 2)
    for (const { id } of gone) assert.equal(await store.get(id), undefined)
  })

  it('F8: of concurrent deletions each letter counts in one', async world => {
    await world.send(...assortedLetters(world, MANY, seededRandom(17)))
    const seen = await readVersions(world)
    const backwards = seen.toReversed()
    const gone = await Promise.all([seen, backwards, seen].map(each => world.store.deleteMany(each)))
    assert.deepEqual(gone.flat().sort(), seen.map(({ id }) => id).sort())
    assert.equal((await world.store.stats()).count, 0)
  })

  it('F8: letters that are deleted while versions are read hide no others', async world => {
    const letters = assortedLetters(world, MANY, seededRandom(19))
    await world.send(...letters)
    const shown: string[] = []
    for await (const portion of world.store.versions()) {
      shown.push(...portion.map(({ id }) => id))
      await world.store.deleteMany(portion)
    }
    assert.deepEqual(shown.sort(), sortedIds(letters))
    assert.deepEqual(await readVersions(world), [])
  })

  it('P1: after close, reading versions and deleting many reject as closed', async world => {
    await world.store.close()
    const closed = { code: 'LAZARET_DEAD_LETTERS_CLOSED' }
    await assert.rejects(() => readVersions(world), closed)
    const seen = { id: 'some-id', state: 'dead', lastFailedAt: 1 } as const
    await assert.rejects(async () => world.store.deleteMany([seen]), closed)
  })
}

async function readVersions({ store }: LetterWorld, filter?: LetterFilter): Promise<SeenLetter[]> {
  const found: SeenLetter[] = []
  for await (const portion of store.versions(filter)) found.push(...portion)
  return found
}

function versionOf({ id, state, cycle: { lastFailedAt } }: DeadLetter): SeenLetter {
  return { id, state, lastFailedAt }
}

function byId(a: SeenLetter, b: SeenLetter): number {
  return a.id < b.id ? -1 : 1
}
