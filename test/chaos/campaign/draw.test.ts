import { describe, expect, it } from 'vitest'
import { drawFaultTimes, drawKinds } from './draw.ts'
import { type CampaignOptions, SHARES } from './plan.ts'

const options: CampaignOptions = {
  seed: 7,
  messages: 50_000,
  queueType: 'quorum',
  faults: { kill: 10, cut: 20, restart: 3, hang: 0, freeze: 0 },
}

describe('the plan of a chaos campaign', () => {
  it('E21: has the requested shares of failures', () => {
    const kinds = drawKinds(options, SHARES)
    const count = (wanted: string) => kinds.filter(kind => kind === wanted).length
    expect([count('transient'), count('permanent'), count('poison')]).toEqual([2_500, 500, 50])
    expect(kinds).toHaveLength(50_000)
  })

  it('E21: has every fault, in an order that the seed decides, and repeats', () => {
    const moments = drawFaultTimes(options, options.faults)
    const times = moments.map(({ at }) => at)
    expect(times).toEqual([...times].sort((a, b) => a - b))
    expect(times.at(-1)).toBeLessThan(45_000)
    const order = moments.map(({ fault }) => fault)
    expect(order.filter(fault => fault === 'kill')).toHaveLength(10)
    expect(order).toHaveLength(33)
    expect(drawFaultTimes(options, options.faults)).toEqual(moments)
    expect(drawFaultTimes({ ...options, seed: 8 }, options.faults)).not.toEqual(moments)
  })
})
