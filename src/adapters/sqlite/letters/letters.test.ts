import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { KeptSqliteFile } from '../../../../test/support/sqlite-file.ts'
import { compareLetters, letterPosition } from '../../../adapter-kit/query/letter-order.ts'
import { matchesFilter } from '../../../adapter-kit/query/letter-query.ts'
import { tallyGroups } from '../../../core/dead-letter/group-tally.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { LETTER_STATES } from '../../../core/dead-letter/state.ts'
import type { LetterFilter } from '../../../ports/dead-letters.ts'
import { createFactory } from '../../../testing/factories.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { seededRandom } from '../../../testing/seeded-random.ts'
import { openSqlite } from '../index.ts'
import { SEGMENT_SIZE } from './search-index.ts'

const clock = new FakeClock()
const file = new KeptSqliteFile(clock)
const store = openSqlite({ path: file.path, clock })
const { deadLetters, groups } = store
afterAll(async () => {
  await store.close()
  await file.close()
})
beforeEach(async () => {
  await store.ready()
  file.clear()
})

const random = seededRandom(4)
const make = createFactory({ clock, random })
const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!

/** Letters of all times in any order, as when a spill is drained among newer ones. */
function letters(count: number, errorOf: (index: number) => Error): DeadLetter[] {
  return Array.from({ length: count }, (_, index) => {
    const at = clock.now() - Math.floor(random() * 1_000) * (index % 7 === 0 ? 50 : 1)
    const letter = make.letter({
      event: make.event({ key: `customer-${index % 90}`, type: pick(['order.placed', 'order.paid']) }),
      handler: pick(['bill', 'ship']),
      error: errorOf(index),
      attempts: [make.attempt(1, { startedAt: at, endedAt: at })],
      at,
    })
    return { ...letter, state: pick(LETTER_STATES) }
  })
}

async function expectToFind(filter: LetterFilter, among: readonly DeadLetter[]): Promise<void> {
  const expected = among.filter(letter => matchesFilter(letter, filter)).sort(inOrder)
  const found: string[] = []
  for (let cursor: string | undefined, limit = 100; ; limit = 1_000) {
    const page = await deadLetters.list({ ...filter, limit, cursor })
    found.push(...page.letters.map(({ id }) => id))
    cursor = page.cursor
    if (cursor === undefined) break
  }
  expect(found, JSON.stringify(filter)).toEqual(expected.map(({ id }) => id))
  expect((await deadLetters.stats(filter)).count, JSON.stringify(filter)).toBe(expected.length)
}

function inOrder(a: DeadLetter, b: DeadLetter): number {
  return compareLetters(letterPosition(a), letterPosition(b))
}

describe('sqlite dead letters', () => {
  it('E9: a text is found among many, wherever it is and whatever happened to the letters since', async () => {
    const kinds = [
      new TypeError('no such thing'),
      new Error('Řeka je ŠIROKÁ'),
      new RangeError('50%_off\u001f'),
    ]
    const all = letters(SEGMENT_SIZE * 4 + 300, index => kinds[index % kinds.length]!)
    all[70] = make.letter({ error: new Error('the needle in the first block'), at: clock.now() })
    await Promise.all(all.map(letter => deadLetters.send(letter)))
    for (let round = 0; round < 200; round++) {
      const index = Math.floor(random() * all.length)
      const { id } = all[index]!
      if (round % 2 === 0) await deadLetters.delete(all.splice(index, 1)[0]!.id)
      else if (all[index]!.state !== 'parked' && all[index]!.state !== 'replaying') {
        const error = new Error(`another cause ${round}`)
        const at = clock.now() + round
        const attempts = [make.attempt(1, { startedAt: at, endedAt: at })]
        await deadLetters.send(
          make.letter({
            event: all[index]!.event,
            handler: all[index]!.handler,
            replay: 1,
            error,
            at,
            attempts,
          }),
        )
        all[index] = (await deadLetters.get(id))!
      }
    }
    const filters: LetterFilter[] = [
      { search: 'needle' },
      { search: 'NO SUCH' },
      { search: 'široká', state: 'parked' },
      { search: 'another cause 1' },
      { search: 'customer-7', handler: 'bill', after: clock.now() - 500 },
      { search: all[2_500]!.event.id },
      { search: '_o' },
      { search: 'off\u001f' },
      { search: 'error\u001f' },
      { search: 'nowhere to be found' },
      { after: clock.now() - 300, before: clock.now() - 100 },
      { handler: 'ship', type: 'order.paid', state: 'resolved' },
    ]
    for (const filter of filters) await expectToFind(filter, all)
  })

  it('E9: letters without a group are still listed and counted', async () => {
    const all = letters(2_300, index =>
      Object.assign(new Error('x'), { code: `E_${index}`, name: `N${index}` }),
    )
    await Promise.all(all.map(letter => deadLetters.send(letter)))
    for (const filter of [{}, { handler: 'bill' }, { search: 'n77' }, { after: clock.now() - 400 }])
      await expectToFind(filter, all)
  })

  it('P1: groups say what counting the letters would, after every change of them', async () => {
    const kinds = [new TypeError('a'), new Error('b'), new RangeError('c')]
    const all = letters(120, index => kinds[index % kinds.length]!)
    await Promise.all(all.map(letter => deadLetters.send(letter)))
    for (let round = 0; round < 80; round++) {
      const { id } = pick(all)
      if (round % 4 === 0) await deadLetters.delete(id)
      else await deadLetters.change(id, { to: pick(LETTER_STATES), at: clock.now() + round }).catch(() => {})
    }
    const left = (await deadLetters.list({ limit: 1_000 })).letters
    const tallies = [...tallyGroups(left).values()].sort(
      (a, b) => b.lastSeenAt - a.lastSeenAt || (a.id < b.id ? -1 : 1),
    )
    const listed = (await groups.list()).groups
    expect(listed).toEqual(
      tallies.map(({ firstSeenAt: _, title: __, ...tally }) => expect.objectContaining(tally)),
    )
    for (const group of listed) expect((await deadLetters.stats({ group: group.id })).count).toBe(group.count)
  })

  it('E9: letters that no attempt was made of are found by the group they are in', async () => {
    const letter = make.letter({ reason: 'rate_limited', failure: undefined, attempts: [] })
    await deadLetters.send(letter)
    const [group] = (await groups.list()).groups
    expect((await deadLetters.list({ group: group!.id })).letters).toEqual([letter])
  })
})

describe('versions', () => {
  it('F8: more letters than a portion holds are read once each, while others are deleted', async () => {
    const made = letters(5_600, index => new Error(`cause ${index % 3}`))
    await Promise.all(made.map(letter => deadLetters.send(letter)))
    const expected = made.filter(({ channel }) => channel === made[0]!.channel).map(({ id }) => id)
    const portions: (readonly string[])[] = []
    for await (const portion of deadLetters.versions({ channel: made[0]!.channel })) {
      portions.push(portion.map(({ id }) => id))
      expect(await deadLetters.deleteMany(portion.slice(0, 50))).toHaveLength(Math.min(50, portion.length))
    }
    expect(portions.length).toBeGreaterThan(1)
    expect(portions.flat().sort()).toEqual(expected.sort())
  })
})
