import { expect, it } from 'vitest'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { Deadlines, type Pending } from './deadlines.ts'

function world() {
  const clock = new FakeClock()
  const deadlines = new Deadlines(clock, 1_000)
  const expired: string[] = []
  const begin = (name: string): Pending => {
    const pending = { dueAtTick: 0, expire: () => expired.push(name) }
    deadlines.add(pending)
    return pending
  }
  return { clock, deadlines, expired, begin }
}

it('E21: a call ends not before its time, and at most a quarter later', async () => {
  const { clock, expired, begin } = world()
  begin('first')
  await clock.advance(600)
  begin('second')
  await clock.advance(399)
  expect(expired).toEqual([])
  await clock.advance(251)
  expect(expired).toEqual(['first'])
  await clock.advance(600)
  expect(expired).toEqual(['first', 'second'])
})

it('E21: what has ended in time does not expire, and no timer is left', async () => {
  const { clock, deadlines, expired, begin } = world()
  deadlines.end(begin('first'))
  await clock.advance(5_000)
  begin('second')
  deadlines.close()
  await clock.advance(5_000)
  expect(expired).toEqual([])
})
