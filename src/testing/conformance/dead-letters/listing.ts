import assert from 'node:assert/strict'
import { compareLetters, letterPosition } from '../../../adapter-kit/query/letter-order.ts'
import { letterMatcher } from '../../../adapter-kit/query/letter-query.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { LetterFilter } from '../../../ports/dead-letters.ts'
import { seededRandom } from '../../seeded-random.ts'
import { sortedIds } from '../harness.ts'
import { assortedLetters } from './samples.ts'
import { type DeadLetterStoreConformance, inLetterWorld } from './suite.ts'

const MANY = 80

/** Listing letters: order, pages, filters and statistics. */
export function listingTests(suite: DeadLetterStoreConformance): void {
  const it = inLetterWorld(suite)

  it('E9: an empty store has one empty page and empty statistics', async ({ store }) => {
    assert.deepEqual(await store.list(), { letters: [], cursor: undefined })
    assert.deepEqual(await store.stats(), {
      count: 0,
      oldestAt: undefined,
      newestAt: undefined,
      byState: {},
      byReason: {},
      byChannel: {},
    })
  })

  it('E10: letters are listed by newest failure, then by greatest id', async world => {
    const letters = assortedLetters(world, MANY, seededRandom(1))
    await world.send(...letters)
    const { letters: listed } = await world.store.list({ limit: MANY })
    assert.deepEqual(idsInOrder(listed), idsInOrder(sorted(letters)))
  })

  for (const limit of [1, 7, MANY - 1, MANY, MANY + 1]) {
    it(`E9: pages of ${limit} show every letter once, in order`, async world => {
      const letters = assortedLetters(world, MANY, seededRandom(limit))
      await world.send(...letters)
      const pages = await world.pages({ limit })
      assert(pages.every(page => page.length <= limit))
      assert.equal(pages.length, Math.ceil(MANY / limit), 'the last page has no cursor')
      assert.deepEqual(idsInOrder(pages.flat()), idsInOrder(sorted(letters)))
    })
  }

  it('E9: letters that stay are listed once, while others come and go between pages', async world => {
    const letters = assortedLetters(world, MANY, seededRandom(5))
    await world.send(...letters)
    const deleted = new Set<string>()
    const pages = await world.pages({ limit: 9 }, async page => {
      const gone = letters[page * 7]!
      await world.store.delete(gone.id)
      deleted.add(gone.id)
      await world.send(...assortedLetters(world, 3, seededRandom(page)))
    })
    const shown = pages.flat().map(letter => letter.id)
    assert.equal(new Set(shown).size, shown.length, 'none is shown twice')
    const missed = letters.filter(({ id }) => !deleted.has(id) && !shown.includes(id))
    assert.deepEqual(
      missed.map(letter => letterPosition(letter)),
      [],
    )
  })

  it('E9: every filter selects its letters, alone and in combination', async world => {
    const letters = assortedLetters(world, MANY, seededRandom(9))
    await world.send(...letters)
    for (const filter of filtersFor(letters)) {
      const expected = letters.filter(letterMatcher(filter))
      const found = (await world.pages({ ...filter, limit: 30 })).flat()
      assert.deepEqual(idsInOrder(found), idsInOrder(sorted(expected)), `filter ${JSON.stringify(filter)}`)
      const { count } = await world.store.stats(filter)
      assert.equal(count, expected.length, `stats ${JSON.stringify(filter)}`)
    }
  })

  it('E9: a search matches every character literally and ignores case', async world => {
    const named = (type: string) => world.make.letter({ event: world.make.event({ type }) })
    const [percent, underscore, backslash] = [named('100%'), named('a_b'), named('c\\d')]
    await world.send(percent, underscore, backslash, named('100x'), named('axb'), named('cd'))
    const find = async (search: string) => (await world.store.list({ search })).letters.map(each => each.id)
    assert.deepEqual(await find('0%'), [percent.id])
    assert.deepEqual(await find('A_B'), [underscore.id])
    assert.deepEqual(await find('c\\'), [backslash.id])
    assert.deepEqual(await find("'; drop"), [])
    assert.deepEqual(await find(percent.event.id.toUpperCase()), [percent.id])
  })

  it('E9: no index is needed for a field: pages, versions and figures agree for a sealed letter too', async world => {
    const letters = assortedLetters(world, MANY, seededRandom(4))
    await world.send(...letters)
    for (const filter of filtersFor(letters).filter(({ where }) => where !== undefined)) {
      const expected = letters.filter(letterMatcher(filter))
      assert.deepEqual(
        idsInOrder((await world.pages({ ...filter, limit: 3 })).flat()),
        idsInOrder(sorted(expected)),
      )
      const seen: string[] = []
      for await (const portion of world.store.versions(filter)) seen.push(...portion.map(({ id }) => id))
      assert.deepEqual(seen.toSorted(), sortedIds(expected), `versions ${JSON.stringify(filter)}`)
    }
  })

  it('R15: a search finds texts and numbers in metadata, and not their names', async world => {
    const letter = world.make.letter({ metadata: { tenant: 'Acme', deep: [{ tier: 42_001 }] } })
    await world.send(letter, world.make.letter({ metadata: { tenant: 'other' } }))
    const find = async (search: string) => (await world.store.list({ search })).letters.map(each => each.id)
    assert.deepEqual(await find('aCME'), [letter.id])
    assert.deepEqual(await find('42001'), [letter.id])
    assert.deepEqual(await find('tenant'), [])
  })

  it('E10: stats count by state, reason and channel, with the oldest and newest time', async world => {
    const letters = assortedLetters(world, MANY, seededRandom(2))
    await world.send(...letters)
    const times = letters.map(letter => letter.cycle.lastFailedAt)
    assert.deepEqual(await world.store.stats(), {
      count: MANY,
      oldestAt: Math.min(...times),
      newestAt: Math.max(...times),
      byState: countBy(letters, letter => letter.state),
      byReason: countBy(letters, letter => letter.cycle.reason),
      byChannel: countBy(letters, letter => letter.channel),
    })
  })

  it('E9: a count that may stop is exact, or a lower bound that says so', async world => {
    const letters = assortedLetters(world, MANY, seededRandom(6))
    await world.send(...letters)
    for (const filter of filtersFor(letters)) {
      const exact = await world.store.stats(filter)
      const { count } = exact
      for (const stopAt of new Set([0, 1, 9, Math.max(count - 1, 0), count, count + 1])) {
        const { atLeast, ...counted } = await world.store.stats(filter, { stopAt })
        const text = `filter ${JSON.stringify(filter)}, stop at ${stopAt}`
        if (atLeast !== true) {
          assert.deepEqual(counted, exact, text)
          continue
        }
        assert(count > stopAt, `no more letters match: ${text}`)
        assert.equal(counted.count, stopAt, text)
        assert.deepEqual([counted.oldestAt, counted.newestAt], [exact.oldestAt, exact.newestAt], text)
        for (const by of ['byState', 'byReason', 'byChannel'] as const)
          assertLowerBounds(counted[by], exact[by], text)
      }
    }
  })

  it('R10: letters are counted by channel and handler, for every filter', async world => {
    const letters = assortedLetters(world, MANY, seededRandom(5))
    await world.send(...letters)
    for (const filter of [undefined, ...filtersFor(letters)]) {
      const counts = await world.store.countByHandler?.(filter)
      if (counts === undefined) return
      const matching = letters.filter(letterMatcher(filter ?? {}))
      assert.deepEqual(
        Object.fromEntries(counts.map(({ channel, handler, count }) => [`${channel} ${handler}`, count])),
        countBy(matching, ({ channel, handler }) => `${channel} ${handler}`),
        `filter ${JSON.stringify(filter)}`,
      )
    }
  })

  it('E10: a timeline counts by the time of the last failure, for every filter and bucket size', async world => {
    const letters = assortedLetters(world, MANY, seededRandom(3))
    await world.send(...letters)
    const latest = Math.max(...letters.map(letter => letter.cycle.lastFailedAt))
    for (const filter of filtersFor(letters)) {
      const matching = letters.filter(letterMatcher(filter))
      for (const [before, bucketMs, buckets] of [
        [5_000, 1_000, 6],
        [3, 1, 4],
        [2_000, 1_500, 1],
        [0, 60_000, 3],
      ] as const) {
        const from = latest - before
        const expected = Array.from({ length: buckets }, (_, bucket) => {
          const start = from + bucket * bucketMs
          const isIn = (at: number) => at >= start && at < start + bucketMs
          return matching.filter(({ cycle }) => isIn(cycle.lastFailedAt)).length
        })
        const counted = await world.store.timeline(filter, { from, bucketMs, buckets })
        assert.deepEqual(counted, expected, `filter ${JSON.stringify(filter)}, ${bucketMs} ms`)
      }
    }
  })

  it('E9: a letter that is sent again is listed by its last failure', async world => {
    const [older, newer] = [world.make.letter(), world.make.letter()]
    const at = world.timing.now() + 5_000
    await world.send(older, newer)
    await world.send(world.letterAt(at, { event: older.event, replay: 1 }))
    assert.deepEqual(idsInOrder((await world.store.list()).letters), [older.id, newer.id])
    assert.deepEqual(sortedIds((await world.store.list({ after: at })).letters), [older.id])
  })
}

/** Every name of the exact counts is there, with one letter at least and with no more than the exact count. */
function assertLowerBounds(
  counted: Readonly<Record<string, number>>,
  exact: Readonly<Record<string, number>>,
  text: string,
): void {
  assert.deepEqual(Object.keys(counted).toSorted(), Object.keys(exact).toSorted(), text)
  for (const [name, count] of Object.entries(counted)) assert(count >= 1 && count <= exact[name]!, text)
}

/** Each filter field alone, with a value that some letters have, and then each field with the next one. */
export function filtersFor(letters: readonly DeadLetter[]): LetterFilter[] {
  const [sample] = letters
  const { channel, handler, event, state, cycle } = sample!
  const single: LetterFilter[] = [
    { channel },
    { channel: 'no-such-channel' },
    { handler },
    { type: event.type },
    { reason: cycle.reason },
    { category: cycle.category },
    { state },
    { group: cycle.failure?.fingerprint.id },
    { after: cycle.lastFailedAt },
    { before: cycle.lastFailedAt },
    { search: 'econnREFUSED' },
    { search: 'TypeError' },
    { search: 'KŮŇ' },
    { search: 'customer_2' },
    { search: event.id },
    { search: 'ORDER.' },
    { search: 'ACME & SÖ' },
    { search: '42001' },
    { release: '2.4.0' },
    { error: 'econnREFUSED' },
    { error: 'order.' },
    { minAttempts: 2 },
    { maxAttempts: 4 },
    { minAttempts: 4, maxAttempts: 4 },
    { where: 'payload.customer.id = 7' },
    { where: 'header.tenant = acme' },
    { where: 'payload.items.sku = A-1 and header.TENANT != acme' },
    { where: 'payload.0 = A-1' },
    { where: 'payload.tags ~ VI' },
    { where: 'payload.customer.name = "Ada and Eve"' },
    { where: 'payload."a.b" = true and metadata.tier = 42001.0' },
  ]
  const together = single.map((filter, index) => ({ ...filter, ...single[(index + 1) % single.length] }))
  return [{}, ...single, ...together]
}

function sorted(letters: readonly DeadLetter[]): DeadLetter[] {
  return [...letters].sort((a, b) => compareLetters(letterPosition(a), letterPosition(b)))
}

function idsInOrder(letters: readonly DeadLetter[]): string[] {
  return letters.map(letter => letter.id)
}

function countBy(letters: readonly DeadLetter[], keyOf: (letter: DeadLetter) => string) {
  return Object.fromEntries(Array.from(Map.groupBy(letters, keyOf), ([key, { length }]) => [key, length]))
}
