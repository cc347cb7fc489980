import { expect, it } from 'vitest'
import { RunningLists } from './running-lists.ts'

it('B8: a list can be removed when none of its attempts runs any more, and is told once', () => {
  const lists = new RunningLists()
  expect(lists.begin(['a', 'b'])).toEqual({ number: 1, over: [] })
  lists.end('a')
  lists.end('a')
  expect(lists.begin(['c'])).toEqual({ number: 2, over: [] })
  lists.end('b')
  lists.end('unknown')
  expect(lists.begin(['d'])).toEqual({ number: 3, over: [1] })
  expect(lists.begin(['e'])).toEqual({ number: 4, over: [] })
})

it('B8: an attempt that begins again in process is in the newest list alone', () => {
  const lists = new RunningLists()
  lists.begin(['a'])
  expect(lists.begin(['a'])).toEqual({ number: 2, over: [1] })
  lists.end('a')
  expect(lists.begin([])).toEqual({ number: 3, over: [2] })
})
