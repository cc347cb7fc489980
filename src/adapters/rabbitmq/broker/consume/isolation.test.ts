import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../../../testing/fake-clock.ts'
import { Isolation } from './isolation.ts'

function isolation() {
  const clock = new FakeClock()
  const flows: string[] = []
  const subject = new Isolation(clock, () => flows.push(subject.state))
  return { clock, flows, subject }
}

describe('isolation of suspects', () => {
  it('B8: suspects wait until nothing else is being handled, and the queue until no suspect comes', async () => {
    const { clock, flows, subject } = isolation()
    subject.suspectsWait(true)
    subject.rest()
    subject.arrived()
    await clock.advance(1_000)
    expect(flows).toEqual(['draining', 'alone'])
    subject.rest()
    await clock.advance(99)
    expect(subject.state).toBe('alone')
    await clock.advance(1)
    expect(subject.state).toBe('leaving')
    subject.rest()
    expect(flows).toEqual(['draining', 'alone', 'leaving', 'all'])
  })

  it('B8: a suspect that was on its way when they were left runs alone as well', async () => {
    const { clock, flows, subject } = isolation()
    subject.suspectsWait(false)
    subject.rest()
    await clock.advance(100)
    subject.arrived()
    await clock.advance(1_000)
    expect(flows).toEqual(['alone', 'leaving', 'alone'])
  })

  it('B8: a slow handler does not hold up everything: then suspects come beside it', async () => {
    const { clock, flows, subject } = isolation()
    subject.suspectsWait(true)
    await clock.advance(4_999)
    subject.suspectsWait(true)
    expect(subject.state).toBe('draining')
    await clock.advance(1)
    expect(flows).toEqual(['draining', 'alone'])
  })

  it('B8: suspects of an idle process run at once', () => {
    const { flows, subject } = isolation()
    subject.suspectsWait(false)
    expect(flows).toEqual(['alone'])
  })

  it('B8: without suspects nothing changes', async () => {
    const { clock, flows, subject } = isolation()
    subject.rest()
    await clock.advance(1_000)
    expect(flows).toEqual([])
  })
})
