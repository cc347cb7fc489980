import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../../src/testing/index.ts'
import { RefreshQueue } from './refresh-queue.ts'

function world() {
  const clock = new FakeClock()
  const rounds: string[][] = []
  let finish = () => {}
  const gathered = new RefreshQueue(
    topics => {
      rounds.push([...topics])
      return new Promise(resolve => {
        finish = resolve
      })
    },
    { now: () => clock.now(), after: (ms, callback) => clock.schedule(ms, callback) },
  )
  return { clock, rounds, gathered, finish: () => finish() }
}

describe('RefreshQueue', () => {
  it('F8: combines fast changes into one refresh', async () => {
    const { clock, rounds, gathered } = world()
    for (const topic of ['letters', 'groups', 'letters']) gathered.add([topic])
    await clock.advance(1_499)
    expect(rounds).toEqual([])
    await clock.advance(1)
    expect(rounds).toEqual([['letters', 'groups']])
  })

  it('F8: a slow server gets no request while it answers, and a pause of twice that time afterwards', async () => {
    const { clock, rounds, gathered, finish } = world()
    gathered.add(['letters'])
    await clock.advance(1_500)
    gathered.add(['groups'])
    await clock.advance(4_000)
    expect(rounds).toHaveLength(1)
    finish()
    await clock.advance(7_999)
    expect(rounds).toHaveLength(1)
    await clock.advance(1)
    expect(rounds).toEqual([['letters'], ['groups']])
  })

  it('F8: starts again after a pause, and not after it was stopped', async () => {
    const { clock, rounds, gathered, finish } = world()
    gathered.add(['letters'])
    await clock.advance(1_500)
    finish()
    await clock.advance(60_000)
    gathered.add(['replays'])
    await clock.advance(1_500)
    expect(rounds).toEqual([['letters'], ['replays']])
    finish()
    await clock.advance(1)
    gathered.add(['groups'])
    gathered.stop()
    await clock.advance(60_000)
    expect(rounds).toHaveLength(2)
  })
})
