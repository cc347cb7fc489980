import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Heap } from './heap.ts'

describe('heap', () => {
  it('B3: gives its items back in order, whatever was put and taken in between', () => {
    const steps = fc.array(fc.option(fc.integer({ min: 0, max: 50 })), { maxLength: 200 })
    fc.assert(
      fc.property(steps, inputs => {
        const heap = new Heap<number>((a, b) => a < b)
        const model: number[] = []
        for (const input of inputs) {
          if (input === null) expect(heap.shift()).toBe(model.shift())
          else {
            heap.push(input)
            model.push(input)
            model.sort((a, b) => a - b)
          }
          expect(heap.size).toBe(model.length)
          expect(heap.first).toBe(model[0])
        }
      }),
    )
  })

  it('B3: a hundred thousand items take no time to speak of', () => {
    const heap = new Heap<number>((a, b) => a < b)
    for (let index = 0; index < 100_000; index++) heap.push((index * 7_919) % 100_003)
    const taken = Array.from({ length: heap.size }, () => heap.shift() ?? -1)
    expect(taken.every((item, index) => index === 0 || item > taken[index - 1]!)).toBe(true)
  })
})
