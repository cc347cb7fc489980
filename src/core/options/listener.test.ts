import { describe, expect, it } from 'vitest'
import { foreignRejection, nestedRejection, unhandledDuring } from '../../../test/support/rejections.ts'
import { Faults } from './faults.ts'
import { listener } from './rules.ts'

const read = (value: unknown) => {
  const faults = new Faults()
  return { tell: listener<(news: string) => void>().read(value, 'onError', faults), faults }
}

describe('a function that is told of something', () => {
  it('B16: what it throws or rejects with reaches nobody', async () => {
    const heard: string[] = []
    const throwing = read((news: string) => {
      heard.push(news)
      throw new Error('boom')
    })
    const rejecting = read(async (news: string) => {
      heard.push(news)
      throw new Error('boom')
    })
    expect(throwing.tell('a')).toBeUndefined()
    expect(rejecting.tell('b')).toBeUndefined()
    await Promise.resolve()
    expect(heard).toEqual(['a', 'b'])
  })

  it.each([
    ['of another library that resolves with one that rejects', nestedRejection],
    ['of another realm', foreignRejection],
  ])('B16: the rejection of a promise %s does not end the process', async (_, answer) => {
    expect(await unhandledDuring(() => read(answer).tell('a'))).toEqual([])
  })

  it('B16: a value that is not a function is a fault of the options', () => {
    expect(read('no').faults.list).toMatchObject([{ path: 'onError', remedy: 'give a function' }])
  })
})
