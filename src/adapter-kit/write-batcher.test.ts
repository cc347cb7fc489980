import { describe, expect, it } from 'vitest'
import { yieldToEventLoop } from '../ports/clock.ts'
import { SharedWriteBatcher, WriteBatcher } from './write-batcher.ts'

interface Write {
  readonly items: readonly number[]
  answer(value: string): void
  fail(error: Error): void
}

/** Writes that the test answers, in the order in which they begin. */
function writing(most: number) {
  const begun: Write[] = []
  let onBegin = () => {}
  const batcher = new SharedWriteBatcher<number, string>(most, items => {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    begun.push({ items: [...items], answer: resolve, fail: reject })
    onBegin()
    return promise
  })
  const next = () => new Promise<void>(resolve => (onBegin = resolve)).then(() => begun.at(-1)!)
  return { batcher, begun, next }
}

describe('SharedWriteBatcher', () => {
  it('B8: items of one turn share a write and its promise, later ones share the next write', async () => {
    const { batcher, next } = writing(10)
    const first = next()
    const one = batcher.add(1)
    expect(batcher.add(2)).toBe(one)
    const write = await first
    expect(write.items).toEqual([1, 2])
    const three = batcher.add(3)
    expect(three).not.toBe(one)
    expect(batcher.add(4)).toBe(three)
    const second = next()
    write.answer('first')
    expect(await one).toBe('first')
    const later = await second
    expect(later.items).toEqual([3, 4])
    later.answer('second')
    expect(await three).toBe('second')
  })

  it('B8: a write has at most so many items, and writes follow each other', async () => {
    const { batcher, begun, next } = writing(2)
    const first = next()
    const answers = [1, 2, 3].map(item => batcher.add(item))
    const write = await first
    expect(begun.map(({ items }) => items)).toEqual([[1, 2]])
    const second = next()
    write.answer('first')
    const later = await second
    later.answer('second')
    expect(await Promise.all(answers)).toEqual(['first', 'first', 'second'])
    expect(begun.map(({ items }) => items)).toEqual([[1, 2], [3]])
  })

  it('B8: other work takes the place of a write only if there is none, and later writes wait for it', async () => {
    const { batcher, begun, next } = writing(10)
    const first = next()
    const one = batcher.add(1)
    expect(batcher.insteadOfWrite(async () => 'other')).toBeUndefined()
    const write = await first
    expect(batcher.insteadOfWrite(async () => 'other')).toBeUndefined()
    write.answer('first')
    await one
    const other = Promise.withResolvers<string>()
    const working = batcher.insteadOfWrite(() => other.promise)
    const second = next()
    const two = batcher.add(2)
    await yieldToEventLoop()
    expect(begun).toHaveLength(1)
    other.resolve('other')
    expect(await working).toBe('other')
    const later = await second
    later.answer('second')
    expect(await two).toBe('second')
  })

  it('B8: a failed write rejects its own items only', async () => {
    const { batcher, next } = writing(10)
    const first = next()
    const one = batcher.add(1)
    const write = await first
    const second = next()
    const two = batcher.add(2)
    write.fail(new Error('the server is away'))
    await expect(one).rejects.toThrow('the server is away')
    const later = await second
    later.answer('second')
    expect(await two).toBe('second')
  })
})

describe('WriteBatcher', () => {
  it('B8: each item gets its own answer, in every batch', async () => {
    const sizes: number[] = []
    const batcher = new WriteBatcher<number, string>(2, async items => {
      sizes.push(items.length)
      return items.map(item => `answer ${item}`)
    })
    const answers = await Promise.all([1, 2, 3, 4, 5].map(item => batcher.add(item)))
    expect(answers).toEqual([1, 2, 3, 4, 5].map(item => `answer ${item}`))
    expect(sizes).toEqual([2, 2, 1])
    expect(await batcher.add(6)).toBe('answer 6')
  })

  it('B8: an item that fails alone rejects alone, and a failed write rejects its own items', async () => {
    const batcher = new WriteBatcher<number, number>(2, async items => {
      if (items.includes(3)) throw new Error('the server is away')
      return items.map(item => (item === 2 ? Promise.reject(new Error('refused')) : item))
    })
    const answers = await Promise.allSettled([1, 2, 3, 4, 5].map(item => batcher.add(item)))
    expect(answers.map(each => (each.status === 'fulfilled' ? each.value : each.reason.message))).toEqual([
      1,
      'refused',
      'the server is away',
      'the server is away',
      5,
    ])
  })
})
