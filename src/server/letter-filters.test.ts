import { describe, expect, it } from 'vitest'
import { serverWorld } from '../../test/support/server-world.ts'
import { resolveLetterFilter } from '../adapter-kit/query/letter-query.ts'

const LETTERS = '/api/v1/dead-letters'

async function world() {
  const base = serverWorld()
  const { make } = base
  const letter = (id: number, release: string, attemptCount: number) =>
    make.letter({
      event: make.event({
        payload: { customer: { id } },
        headers: { tenant: id % 2 === 0 ? 'even' : 'odd' },
      }),
      error: new Error(`customer ${id} is blocked`),
      ...{ release, attemptCount },
    })
  const letters = [letter(1, '2.4.0', 1), letter(2, '2.4.0', 5), letter(3, '2.4.1', 9)]
  await base.bury(...letters)
  const ids = letters.map(({ id }) => id)
  const found = async (query: string) => {
    const { status, body } = await base.ask(`${LETTERS}?${query}`)
    expect(status).toBe(200)
    return (body.letters as { id: string }[]).map(({ id }) => ids.indexOf(id) + 1).sort()
  }
  return { ...base, found }
}

describe('filters of letters', () => {
  it('F8: by fields, release, error text and attempts, combined in the address', async () => {
    const { found, ask } = await world()
    const where = (text: string) => `where=${encodeURIComponent(text)}`
    expect(await found(where('payload.customer.id = 2'))).toEqual([2])
    expect(await found(where('header.tenant = odd'))).toEqual([1, 3])
    expect(await found(`${where('header.tenant = odd')}&release=2.4.1`)).toEqual([3])
    expect(await found('error=CUSTOMER%202')).toEqual([2])
    expect(await found('minAttempts=2&maxAttempts=5')).toEqual([2])
    expect(await found('release=2.4.0&minAttempts=9')).toEqual([])
    const { body } = await ask(`${LETTERS}/stats?${where('header.tenant = odd')}`)
    expect(body.count).toBe(2)
  })

  it('F8: conditions that are too long get the remedy for their length, once', async () => {
    const { ask } = serverWorld()
    const long = `payload.id = "${'x'.repeat(1_000)}"`
    for (const text of [long, 'y'.repeat(1_001)]) {
      const { status, body } = await ask(`${LETTERS}?where=${encodeURIComponent(text)}`)
      expect(status).toBe(400)
      expect(body.faults).toMatchObject([
        { path: 'query.where', remedy: 'give conditions of at most 1000 characters together' },
      ])
    }
    expect(() => resolveLetterFilter({ where: long })).toThrow('at most 1000 characters')
  })

  it('F8: conditions that cannot be read are refused with an example', async () => {
    const { ask } = await world()
    const { status, body } = await ask(`${LETTERS}?where=customer%20%3D%207`)
    expect(status).toBe(400)
    expect(body.faults).toMatchObject([
      { path: 'query.where', remedy: expect.stringContaining("such as 'payload.customer.id = 7") },
    ])
  })

  it.each([null, '', ' ', [], [5], true, '0x10', -1, 1.5])(
    'F8: %j is not a number of attempts',
    async given => {
      const { tell } = await world()
      for (const name of ['minAttempts', 'maxAttempts']) {
        const { status, body } = await tell(`${LETTERS}/purge/preview`, { filter: { [name]: given } })
        expect(status).toBe(400)
        expect(body.faults).toMatchObject([{ path: `body.filter.${name}` }])
      }
    },
  )

  it('F8: one request reads 5,000 letters at most, says so, and its cursor continues', async () => {
    const { bury, make, ask } = serverWorld({ rateLimit: { perSecond: 1_000_000, burst: 1_000_000 } })
    const letters = Array.from({ length: 5_200 }, (_, index) => {
      const letter = make.letter({ event: make.event({ payload: { isWanted: index < 2 } }) })
      const at = letter.cycle.lastFailedAt + index
      return { ...letter, cycle: { ...letter.cycle, lastFailedAt: at } }
    })
    await bury(...letters)
    const query = 'where=payload.isWanted%20%3D%20true'
    const first = (await ask(`${LETTERS}?${query}`)).body
    expect(first).toMatchObject({ letters: [], examined: 5_000 })
    const second = (await ask(`${LETTERS}?${query}&cursor=${encodeURIComponent(first.cursor)}`)).body
    expect(second.letters).toHaveLength(2)
    expect(second).toMatchObject({ examined: 200 })
    expect(second.cursor).toBeUndefined()
    const stats = (await ask(`${LETTERS}/stats?${query}`)).body
    expect(stats).toMatchObject({ count: 0, atLeast: true })
    expect((await ask(`${LETTERS}?channel=orders`)).body.examined).toBeUndefined()
  })
})
