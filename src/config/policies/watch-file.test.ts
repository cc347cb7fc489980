import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../testing/fake-clock.ts'
import { Settling } from './watch-file.ts'

function watched() {
  const clock = new FakeClock()
  const start = clock.now()
  const times: number[] = []
  const settling = new Settling(clock, () => times.push(clock.now() - start))
  return { clock, times, settling }
}

describe('changes of a watched file', () => {
  it('R1: count as one when they come close together, and not at all after the end', async () => {
    const { clock, times, settling } = watched()
    for (const wait of [50, 99, 500]) {
      settling.touch()
      await clock.advance(wait)
    }
    expect(times).toEqual([249])
    settling.touch()
    settling.end()
    await clock.advance(5_000)
    expect(times).toEqual([249])
  })

  it('R1: are applied once a second when the file never comes to rest', async () => {
    const { clock, times, settling } = watched()
    for (let change = 0; change < 50; change++) {
      settling.touch()
      await clock.advance(50)
    }
    await clock.advance(1_000)
    expect(times).toEqual([1_000, 2_000, 2_550])
  })
})
