import { expect, it } from 'vitest'
import { ClaimedRows, type RowClaim } from './claimed-rows.ts'

it('E21: nothing is claimed while a check is under way, however soon it follows the last one', async () => {
  const answers: (() => void)[] = []
  const claimed = new ClaimedRows(() => new Promise(resolve => answers.push(resolve)))
  const takes: number[] = []
  const first = claimed.check()
  const second = first.then(() => claimed.check())
  const claiming = claimed.claim<RowClaim>(1, make =>
    make(async ({ number }) => {
      takes.push(number)
      return [{ seq: 7, claim: number }]
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
