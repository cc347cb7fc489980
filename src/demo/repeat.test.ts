import { describe, expect, it } from 'vitest'
import { demoWorld } from '../../test/support/demo-world.ts'

async function lettersOf(seed: number) {
  const world = await demoWorld(seed)
  await world.clock.advance(60_000)
  const letters = await world.letters()
  const replays = await world.store.replays.list()
  await world.close()
  return { letters, replays }
}

describe('a seed', () => {
  it('produces the same letters and replays, byte for byte', async () => {
    expect(await lettersOf(11)).toEqual(await lettersOf(11))
  })

  it('produces other letters than another seed', async () => {
    const [a, b] = [await lettersOf(11), await lettersOf(12)]
    const ids = new Set(a.letters.map(({ id }) => id))
    expect(b.letters.filter(({ id }) => ids.has(id))).toEqual([])
  })
})
