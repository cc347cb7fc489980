import { describe, expect, it } from 'vitest'
import { FakeClock } from '../testing/fake-clock.ts'
import { PollLoop } from './poll-loop.ts'

function rounds(poll: () => unknown = () => {}) {
  const clock = new FakeClock()
  const polls: number[] = []
  const heartbeats: number[] = []
  const started = clock.now()
  const made = new PollLoop({
    clock,
    minPollMs: 20,
    maxPollMs: 100,
    heartbeatMs: 50,
    poll: () => {
      polls.push(clock.now() - started)
      return poll()
    },
    heartbeat: () => void heartbeats.push(clock.now() - started),
  })
  return { clock, made, polls, heartbeats }
}

describe('PollLoop (S1, S3)', () => {
  it('polls with doubling pauses up to the longest, and sooner again after resetBackoff', async () => {
    const { clock, made, polls } = rounds()
    made.start()
    await clock.advance(300)
    expect(polls).toEqual([20, 60, 140, 240])
    made.resetBackoff()
    await clock.advance(25)
    expect(polls).toEqual([20, 60, 140, 240, 320])
  })

  it('polls when a retry is due, the earliest of several', async () => {
    const { clock, made, polls } = rounds()
    made.start()
    made.wakeIn(50)
    made.wakeIn(5)
    made.wakeIn(70)
    await clock.advance(10)
    expect(polls).toEqual([6])
  })

  it('never runs two polls at once, and runs the one that was missed', async () => {
    let finish = () => {}
    const { clock, made, polls } = rounds(() => new Promise<void>(resolve => (finish = resolve)))
    made.start()
    await clock.advance(60)
    expect(polls).toEqual([20])
    finish()
    await clock.advance(0)
    expect(polls).toEqual([20, 60])
  })

  it('keeps beating while a poll hangs, and survives a poll that throws', async () => {
    const hanging = rounds(() => new Promise(() => {}))
    hanging.made.start()
    await hanging.clock.advance(160)
    expect(hanging.heartbeats).toEqual([50, 100, 150])
    const throwing = rounds(() => {
      throw new Error('broken')
    })
    throwing.made.start()
    await throwing.clock.advance(60)
    expect(throwing.polls).toEqual([20, 60])
  })

  it('does nothing after stop', async () => {
    const { clock, made, polls, heartbeats } = rounds()
    made.start()
    await made.end()
    made.wakeIn(1)
    await clock.advance(200)
    expect([polls, heartbeats]).toEqual([[], []])
  })
})
