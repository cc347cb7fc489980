import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Deque } from './deque.ts'

describe('deque', () => {
  it('B9: is an array with two ends, at any length', () => {
    const steps = fc.array(fc.constantFrom('push', 'push', 'unshift', 'shift'), { maxLength: 300 })
    fc.assert(
      fc.property(steps, inputs => {
        const deque = new Deque<number>()
        const model: number[] = []
        for (const [index, step] of inputs.entries()) {
          if (step === 'shift') expect(deque.shift()).toBe(model.shift())
          else {
            deque[step](index)
            model[step](index)
          }
          expect(deque.size).toBe(model.length)
        }
        while (model.length > 0) expect(deque.shift()).toBe(model.shift())
        expect(deque.shift()).toBeUndefined()
      }),
    )
  })
})
