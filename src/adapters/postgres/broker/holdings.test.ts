import { expect, it } from 'vitest'
import type { ClaimedRow } from './claiming.ts'
import { Holdings } from './holdings.ts'

it('E21: nothing is claimed while a check is under way, however soon it follows the last one', async () => {
  const answers: (() => void)[] = []
  const holdings = new Holdings(() => new Promise(resolve => answers.push(resolve)))
  const takes: number[] = []
  const first = holdings.check()
  const second = first.then(() => holdings.check())
  const claiming = holdings.claim(1, note =>
    note(async ({ number }) => {
      takes.push(number)
      return [{ seq: 7, claim: number } as ClaimedRow]
    }),
  )
  answers.shift()!()
  await first
  await expect.poll(() => answers.length).toBe(1)
  expect(takes, 'the second check has looked at what is held, and would give this back').toEqual([])
  answers.shift()!()
  await second
  expect(await claiming).toMatchObject([{ seq: 7 }])
})
