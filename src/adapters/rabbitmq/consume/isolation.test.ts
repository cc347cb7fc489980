import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { Isolation } from './isolation.ts'

function isolation() {
  const clock = new FakeClock()
  const flows: string[] = []
  const subject = new Isolation(clock, () => flows.push(subject.flow))
  return { clock, flows, subject }
}

describe('isolation of suspects', () => {
  it('B8: a suspect waits until nothing else is being handled, and the queue until no suspect comes', async () => {
    const { clock, flows, subject } = isolation()
    expect(subject.admits(true)).toBe(false)
    subject.rest()
    expect(subject.admits(false)).toBe(true)
    await clock.advance(1_000)
    expect(flows).toEqual(['draining', 'alone'])
    subject.rest()
    await clock.advance(99)
    expect(subject.flow).toBe('alone')
    await clock.advance(1)
    expect(flows).toEqual(['draining', 'alone', 'all'])
  })

  it('B8: a slow handler does not hold up everything: then suspects come beside it', async () => {
    const { clock, flows, subject } = isolation()
    subject.admits(true)
    await clock.advance(4_999)
    expect(subject.admits(true)).toBe(false)
    await clock.advance(1)
    expect(subject.admits(true)).toBe(true)
    expect(flows).toEqual(['draining', 'alone'])
  })

  it('B8: a suspect that comes to an idle process runs at once', () => {
    const { flows, subject } = isolation()
    expect(subject.admits(false)).toBe(true)
    expect(flows).toEqual(['alone'])
  })

  it('B8: without suspects nothing changes', async () => {
    const { clock, flows, subject } = isolation()
    subject.rest()
    await clock.advance(1_000)
    expect(flows).toEqual([])
  })
})
