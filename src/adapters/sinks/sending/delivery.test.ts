import { describe, expect, it } from 'vitest'
import { make } from '../../../../test/support/sinks.ts'
import { SinkRefusedError } from '../errors.ts'
import { cut, Delivery, type DeliveryOptions, type Piece } from './delivery.ts'

const refused = (status: number) => new SinkRefusedError({ subject: 'it', status })
const { signal } = new AbortController()

/** Answers by the places of what is sent: a status that is thrown, or what is refused. */
function delivery(
  answer: (places: readonly number[]) => number | undefined,
  options: Partial<DeliveryOptions<Piece>> = {},
) {
  const sent: (readonly number[])[] = []
  const it = new Delivery<Piece>({
    subject: 'it',
    shape: { maxCount: 4, maxBytes: 1_000 },
    pieceOf: (_, index) => ({ index, size: 10 }),
    halveAt: new Set([413]),
    async send(portion) {
      const places = portion.map(({ index }) => index)
      sent.push(places)
      const status = answer(places)
      if (status !== undefined) throw refused(status)
      return []
    },
    ...options,
  })
  return { write: (count: number) => it.write(make.events(count), signal), sent }
}

describe('a delivery', () => {
  it('E17: goes in portions, and what was taken stays taken when a later one fails', async () => {
    const { write, sent } = delivery(([first]) => (first === 4 ? 500 : undefined))
    const result = await write(10)
    expect(sent).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
      [8, 9],
    ])
    expect(result?.rejected.map(({ index }) => index)).toEqual([4, 5, 6, 7])
  })

  it('E17: is thrown as a whole only when that is fair to every event', async () => {
    await expect(delivery(() => 500).write(6)).rejects.toMatchObject({ status: 500 })
    await expect(delivery(() => 401).write(3)).rejects.toMatchObject({ status: 401 })
    const mixed = await delivery(([first]) => (first === 0 ? 401 : 500)).write(6)
    expect(mixed?.rejected.map(({ error }) => (error as SinkRefusedError).status)).toEqual([
      401, 401, 401, 401, 500, 500,
    ])
  })

  it('E17: halves what is too large down to the one that is', async () => {
    const { write, sent } = delivery(places => (places.includes(2) ? 413 : undefined))
    const result = await write(4)
    expect(result?.rejected.map(({ index }) => index)).toEqual([2])
    expect(sent).toEqual([[0, 1, 2, 3], [0, 1], [2, 3], [2], [3]])
  })

  it('E17: an event that cannot be sent is named, and the others go', async () => {
    const { write, sent } = delivery(() => undefined, {
      pieceOf: (_, index) => {
        if (index === 1) throw new TypeError('no')
        return { index, size: 1 }
      },
    })
    expect((await write(3))?.rejected).toMatchObject([
      { index: 1, error: { retryable: false, category: 'schema', cause: { name: 'TypeError' } } },
    ])
    expect(sent).toEqual([[0, 2]])
  })

  it('E17: an empty batch makes no request', async () => {
    const { write, sent } = delivery(() => 500)
    expect(await write(0)).toBeUndefined()
    expect(sent).toEqual([])
  })

  it('E17: as many requests at once as it is told', async () => {
    let atOnce = 0
    let most = 0
    const { write } = delivery(() => undefined, {
      concurrency: 3,
      shape: { maxCount: 1, maxBytes: 1 },
      async send() {
        most = Math.max(most, ++atOnce)
        await new Promise(resolve => process.nextTick(resolve))
        atOnce--
        return []
      },
    })
    await write(20)
    expect(most).toBe(3)
  })
})

describe('portions', () => {
  it('E17: keep to count and size, and a piece that fits nowhere goes alone', () => {
    const sizes = [4, 4, 4, 20, 1, 1, 1, 1]
    const pieces = sizes.map((size, index) => ({ index, size }))
    const places = cut(pieces, { maxCount: 3, maxBytes: 9 }).map(portion => portion.map(({ index }) => index))
    expect(places).toEqual([[0, 1], [2], [3], [4, 5, 6], [7]])
  })
})
