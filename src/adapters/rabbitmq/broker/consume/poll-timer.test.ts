import { expect, it } from 'vitest'
import { FakeClock } from '../../../../testing/fake-clock.ts'
import { PollTimer } from './stall-detector.ts'

it('B8: a timer looks once a second while it is on, whatever became of its last look', async () => {
  const clock = new FakeClock()
  let looks = 0
  const watch = new PollTimer(clock, async () => {
    looks++
    throw new Error('the channel closed')
  })
  watch.start()
  await clock.advance(3_000)
  expect(looks).toBe(3)
  watch.stop()
  await clock.advance(3_000)
  expect(looks).toBe(3)
})

it('B8: a timer that is restarted while it looks does not look twice as often', async () => {
  const clock = new FakeClock()
  const answers: (() => void)[] = []
  const watch = new PollTimer(clock, () => new Promise(resolve => answers.push(resolve)))
  watch.start()
  await clock.advance(1_000)
  watch.start()
  answers[0]?.()
  await clock.advance(1_000)
  expect(answers).toHaveLength(2)
  await clock.advance(5_000)
  expect(answers).toHaveLength(2)
  answers[1]?.()
  await clock.advance(1_000)
  expect(answers).toHaveLength(3)
})
