import assert from 'node:assert/strict'
import { allCycles } from '../../../core/dead-letter/cycles.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { mergeLetter } from '../../../core/dead-letter/merge.ts'
import { seededRandom } from '../../seeded-random.ts'
import { sortedIds, unlessDeclared } from '../harness.ts'
import { unwritablePayloads } from '../unwritable.ts'
import { fullLetter } from './samples.ts'
import { type DeadLetterStoreConformance, inLetterWorld, type LetterWorld } from './suite.ts'

/** Writing letters. */
export function sendingTests(suite: DeadLetterStoreConformance): void {
  const it = inLetterWorld(suite)

  it('P2: a letter is stored completely', async world => {
    const letter = fullLetter(world)
    await world.send(letter)
    assert.deepEqual(await world.store.get(letter.id), letter)
    assert.deepEqual((await world.store.list()).letters, [letter])
  })

  it("R2, K9: the time to live of a letter is stored, 'never' too, and letters without one stay readable", async world => {
    for (const expiresAfterMs of [3_600_000, 'never', undefined] as const) {
      const letter = world.make.letter({ expiresAfterMs })
      await world.send(letter)
      const stored = await world.store.get(letter.id)
      assert.deepEqual(stored, letter)
      assert.equal(stored?.expiresAfterMs, expiresAfterMs)
      const expected = expiresAfterMs === 3_600_000 ? letter.createdAt + 3_600_000 : undefined
      assert.equal(stored?.expiresAt, expected)
    }
  })

  it('R3: whether automatic replay may send a letter is stored, and letters without it stay readable', async world => {
    for (const autoReplay of [true, undefined]) {
      const letter = world.make.letter({ autoReplay })
      await world.send(letter)
      assert.equal((await world.store.get(letter.id))?.autoReplay, autoReplay)
    }
  })

  it('B9: whether the consumer keeps keys in order is stored, and letters that do not say it stay readable', async world => {
    for (const ordering of ['by-key', 'none', undefined] as const) {
      const letter = world.make.letter({ ordering })
      await world.send(letter)
      assert.equal((await world.store.get(letter.id))?.ordering, ordering)
    }
  })

  it('P2: a payload of bytes comes back as bytes', async world => {
    const payload = new Uint8Array([0, 1, 127, 128, 255])
    const letter = world.make.letter({ event: world.make.event({ payload }) })
    await world.send(letter)
    assert.deepEqual((await world.store.get(letter.id))?.event.payload, payload)
  })

  it('P2 B16: a payload that JSON cannot write is kept as far as possible and marked', async world => {
    for (const [what, payload] of Object.entries(unwritablePayloads())) {
      const letter = world.make.letter({ event: { ...world.make.event(), payload } })
      await world.send(letter)
      assert.deepEqual(await world.store.get(letter.id), letter, what)
      assert.equal(typeof letter.detail?.['notReplayable'], 'string', what)
      assert(JSON.stringify(letter.event.payload).length < 100_000, what)
    }
  })

  it('P1: an unstorable letter is refused permanently, and the store continues', async world => {
    for (const [what, payload] of Object.entries(unwritablePayloads())) {
      const letter = world.make.letter()
      const unwritable = { ...letter, event: { ...letter.event, payload } }
      const refused = { code: 'LAZARET_LETTER_INVALID', retryable: false }
      await assert.rejects(() => world.store.send(unwritable), refused, what)
      await world.send(letter)
      assert.deepEqual(await world.store.get(letter.id), letter, what)
    }
  })

  it('P1: sending the same letter again changes nothing', async world => {
    const letter = fullLetter(world)
    await world.send(letter, letter, letter)
    assert.deepEqual((await world.store.list()).letters, [letter])
  })

  it('P1: concurrent sends, also of the same letter, lose nothing and duplicate nothing', async world => {
    const letters = tellings(world, 4)
    const others = Array.from({ length: 10 }, () => world.make.letter())
    await Promise.all([...letters, ...others, ...letters].map(letter => world.store.send(letter)))
    const stored = await world.store.get(letters[0]!.id)
    assert.deepEqual(cycleNumbers(stored), [0, 1, 2, 3])
    const { letters: listed } = await world.store.list()
    assert.deepEqual(
      sortedIds(listed),
      sortedIds([letters[0]!, ...others]),
      'every other letter is there once',
    )
  })

  it('E10: a failed replay becomes the next cycle of the same letter', async world => {
    const [first, second] = tellings(world, 2)
    await world.send(first!, second!)
    const stored = await world.store.get(first!.id)
    assert.deepEqual([stored?.cycle.number, cycleNumbers(stored)], [1, [0, 1]])
    assert.equal((await world.store.stats()).count, 1)
  })

  it('B14: a failure outside its replay is stored and leaves the letter replaying', async world => {
    const event = world.make.event()
    const start = world.timing.now()
    const told = (replay: number, replayId: string | undefined, at: number) =>
      world.letterAt(at, { event, replay, replayId })
    const first = told(0, undefined, start)
    await world.send(first)
    await world.store.change(first.id, { to: 'replaying', at: start + 1, replayId: 'replay-1' })
    await world.send(told(1, 'forged', start + 2_000), told(99, 'forged', start + 3_000))
    await world.send(told(0, undefined, start + 3_500))
    const { state, replays, cycle } = (await world.store.get(first.id))!
    assert.deepEqual([state, replays, cycle.number, cycle.lastFailedAt], ['replaying', 1, 0, start + 3_500])
    await world.send(told(1, 'replay-1', start + 4_000))
    const back = await world.store.get(first.id)
    assert.deepEqual([back?.state, back?.replays, back?.cycle.number], ['dead', 1, 1])
  })

  it('B7: a letter that is sent late, twice or out of order is merged', async world => {
    const random = seededRandom(11)
    for (let round = 0; round < 5; round++) {
      const letters = tellings(world, 5)
      const told = Array.from({ length: 12 }, () => letters[Math.floor(random() * letters.length)]!)
      await world.send(...told)
      const expected = told.reduce<DeadLetter | undefined>(
        (known, each) => mergeLetter(known, each),
        undefined,
      )
      assert.deepEqual(await world.store.get(letters[0]!.id), expected)
    }
  })

  it('P1: after close, sending rejects as closed, and closing twice is safe', async world => {
    await world.store.close()
    await world.store.close()
    const closed = { code: 'LAZARET_DEAD_LETTERS_CLOSED' }
    await assert.rejects(async () => world.store.send(world.make.letter()), closed)
    await assert.rejects(async () => world.store.list(), closed)
    await assert.rejects(async () => world.store.get('some-id'), closed)
    await assert.rejects(async () => world.store.stats(), closed)
    await assert.rejects(async () => world.store.timeline({}, { from: 0, bucketMs: 1, buckets: 1 }), closed)
  })
}

/** The behaviour of a full store. */
export function capacityTests(suite: DeadLetterStoreConformance): void {
  const it = inLetterWorld(suite, {
    capacity: 3,
    skipBecause: unlessDeclared(suite.declares, 'bounded'),
  })

  it('P1: a full store rejects new letters, drops none, and accepts letters again after a delete', async world => {
    const letters = Array.from({ length: 4 }, () => world.make.letter())
    await world.send(...letters.slice(0, 3))
    await assert.rejects(async () => world.store.send(letters[3]!), { code: 'LAZARET_DEAD_LETTERS_FULL' })
    assert.deepEqual(sortedIds((await world.store.list()).letters), sortedIds(letters.slice(0, 3)))
    await world.store.delete(letters[0]!.id)
    await world.send(letters[3]!)
    assert.deepEqual(sortedIds((await world.store.list()).letters), sortedIds(letters.slice(1)))
  })

  it('P1: a full store still accepts a new cycle of a stored letter', async world => {
    const [first, second] = tellings(world, 2)
    await world.send(first!, world.make.letter(), world.make.letter())
    await world.send(second!)
    assert.equal((await world.store.get(first!.id))?.cycle.number, 1)
  })
}

export function letterDurabilityTests(suite: DeadLetterStoreConformance): void {
  const it = inLetterWorld(suite, {
    skipBecause: unlessDeclared(suite.declares, 'durable'),
  })

  it('K10: sent, changed and deleted letters survive a restart', async world => {
    const [kept, changed, deleted] = [world.make.letter(), world.make.letter(), world.make.letter()]
    await world.send(kept, changed, deleted)
    const discarded = await world.store.change(changed.id, { to: 'discarded', at: world.timing.now() })
    await world.store.delete(deleted.id)
    const reopened = await world.reopen()
    assert.deepEqual(await reopened.get(kept.id), kept)
    assert.deepEqual(await reopened.get(changed.id), discarded)
    assert.equal((await reopened.stats()).count, 2)
  })
}

/** A letter for each cycle of one event, each later than the one before. */
function tellings(world: LetterWorld, cycles: number): DeadLetter[] {
  const event = world.make.event()
  const start = world.timing.now()
  return Array.from({ length: cycles }, (_, replay) =>
    world.letterAt(start + replay * 1_000, { event, replay }),
  )
}

function cycleNumbers(letter: DeadLetter | undefined): number[] {
  return allCycles(letter!).map(({ number }) => number)
}
