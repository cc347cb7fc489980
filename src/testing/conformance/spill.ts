import assert from 'node:assert/strict'
import { allCycles } from '../../core/dead-letter/cycles.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import type { DeadLetterQueue, Spill } from '../../ports/dead-letters.ts'
import { recordingDeadLetters } from '../dead-letters.ts'
import type { Factory } from '../factories.ts'
import { type Fixture, type TestFunction, testsIn, unlessDeclared, World } from './harness.ts'

/** What an adapter gives the suite for each test: an empty spill of its own. */
export interface SpillFixture extends Fixture<Spill> {
  readonly spill: Spill
}

/** What `spillConformance()` needs to test a spill. */
export interface SpillConformance {
  readonly test: TestFunction
  readonly setup: () => Promise<SpillFixture>
  readonly declares: {
    /** Letters survive the end of the process; the fixture has `reopen`. */
    readonly durable: boolean
  }
}

class SpillWorld extends World<Spill, SpillFixture> {
  readonly target = recordingDeadLetters()

  get spill(): Spill {
    return this.port
  }
}

/** Every sentence of the spill's contract, as tests. */
export function spillConformance({ test, setup, declares }: SpillConformance): void {
  const open = async () => {
    const fixture = await setup()
    return new SpillWorld(fixture, fixture.spill)
  }
  const it = testsIn(test, open)
  const itDurable = testsIn(test, open, unlessDeclared(declares, 'durable'))

  it('B7: an empty spill drains nothing', async ({ spill, target }) => {
    assert.equal(await spill.size(), 0)
    assert.equal(await spill.drain(target), 0)
    assert.equal(target.count, 0)
  })

  it('B7: a drain sends complete letters, oldest first, and removes them', async ({
    spill,
    make,
    target,
  }) => {
    const letters = await fill(spill, make, 5)
    assert.equal(await spill.size(), 5)
    assert.equal(await spill.drain(target), 5)
    assert.deepEqual(target.all, letters)
    assert.equal(await spill.size(), 0)
    assert.equal(await spill.drain(target), 0)
  })

  it('B7: a letter that is sent twice is one letter', async ({ spill, make, target }) => {
    const letter = make.letter()
    await spill.send(letter)
    await spill.send(letter)
    assert.equal(await spill.size(), 1)
    assert.equal(await spill.drain(target), 1)
    assert.deepEqual(target.all, [letter])
  })

  it('B7: all cycles of a letter arrive, although each was sent separately', async ({
    spill,
    make,
    target,
  }) => {
    const event = make.event()
    for (const replay of [0, 1, 2]) await spill.send(make.letter({ event, replay }))
    await spill.drain(target)
    const numbers = target.all.flatMap(letter => allCycles(letter).map(cycle => cycle.number))
    assert.deepEqual([...new Set(numbers)].sort(), [0, 1, 2])
  })

  it('B14: an unverified letter stays marked as unverified', async ({ spill, make, target }) => {
    const letter = make.letter({ replay: 1, replayId: 'replay-1', isUnverified: true })
    await spill.send(letter)
    await spill.send(letter)
    await spill.drain(target)
    assert.deepEqual(target.all, [letter])
    assert.equal(target.all[0]?.cycle.isUnverified, true)
  })

  it('B7: a refused letter stays, and the next drain sends it', async ({ spill, make, target }) => {
    const letters = await fill(spill, make, 4)
    assert.equal(await spill.drain(refusingAfter(target, 2)), 2)
    assert.equal(await spill.size(), 2)
    assert.equal(await spill.drain(target), 2)
    assert.deepEqual(target.all, letters)
  })

  it('B7: a letter that the target always refuses does not block the others', async ({
    spill,
    make,
    target,
  }) => {
    const [first, refused, ...others] = await fill(spill, make, 6)
    const refusing = refusingOnly(target, [refused!])
    assert.equal(await spill.drain(refusing), 5)
    assert.deepEqual(target.all, [first, ...others])
    assert.equal(await spill.size(), 1)
    assert.equal(await spill.drain(refusing), 0)
    assert.equal(await spill.size(), 1)
  })

  it('B7: many letters that the target always refuses do not block the others', async ({
    spill,
    make,
    target,
  }) => {
    const refused = await fill(spill, make, 20)
    const others = await fill(spill, make, 5)
    const refusing = refusingOnly(target, refused)
    // A drain may end after a few refusals. Each further drain has to begin with letters that were not refused yet.
    for (let drains = 0; drains < 21 && target.count < 5; drains++) await spill.drain(refusing)
    assert.deepEqual(idsOf(target.all), idsOf(others))
    assert.equal(await spill.size(), 20)
  })

  it('B7: a drain asks a target that is unreachable only a few times', async ({ spill, make, target }) => {
    const letters = await fill(spill, make, 40)
    const refusing = refusingAfter(target, 0)
    assert.equal(await spill.drain(refusing), 0)
    assert(refusing.asked <= 10, `the target was asked ${refusing.asked} times`)
    for (let drains = 0; drains < 10; drains++) await spill.drain(refusing)
    assert(refusing.asked <= 110, `the target was asked ${refusing.asked} times in 11 drains`)
    assert.equal(await spill.drain(target), 40)
    assert.deepEqual(idsOf(target.all), idsOf(letters))
  })

  it('B7: a letter stays until the target has it', async ({ spill, make }) => {
    const [letter] = await fill(spill, make, 1)
    let sizeWhileSending = 0
    await drainInto(spill, async () => {
      sizeWhileSending = await spill.size()
    })
    assert.equal(sizeWhileSending, 1, `${letter?.id} was removed too early`)
    assert.equal(await spill.size(), 0)
  })

  it('B7: letters that arrive during a drain are not lost', async ({ spill, make, target }) => {
    const letters = await fill(spill, make, 2)
    const late = make.letter()
    await drainInto(spill, async letter => {
      if (target.count === 0) await spill.send(late)
      await target.send(letter)
    })
    await spill.drain(target)
    assert.deepEqual(idsOf(target.all), idsOf([...letters, late]))
  })

  it('B7: a new cycle that arrives while its letter is sent is not lost', async ({ spill, make, target }) => {
    const event = make.event()
    await spill.send(make.letter({ event }))
    const removed = await drainInto(spill, async letter => {
      if (target.count === 0) await spill.send(make.letter({ event, replay: 1 }))
      await target.send(letter)
    })
    assert.equal(removed, 0, 'a letter that stays does not count')
    assert.equal(await spill.drain(target), 1)
    assert(target.all.some(letter => letter.cycle.number === 1))
  })

  it('B7: two concurrent drains lose no letter', async ({ spill, make, target }) => {
    const letters = await fill(spill, make, 5)
    await Promise.all([spill.drain(target), spill.drain(target)])
    assert.deepEqual([...new Set(idsOf(target.all))], idsOf(letters))
    assert.equal(await spill.size(), 0)
  })

  it('P1: after close, sending rejects as closed, and closing twice is safe', async ({ spill, make }) => {
    await spill.close()
    await spill.close()
    await assert.rejects(async () => spill.send(make.letter()), { code: 'LAZARET_DEAD_LETTERS_CLOSED' })
  })

  itDurable(
    'B7: sent letters are there after a restart, in order, and drained letters are not',
    async world => {
      const [first, ...others] = await fill(world.spill, world.make, 3)
      await world.spill.drain(refusingAfter(world.target, 1))
      await world.reopen()
      assert.equal(await world.spill.size(), 2)
      await world.spill.drain(world.target)
      assert.deepEqual(world.target.all, [first, ...others])
    },
  )
}

async function drainInto(spill: Spill, send: DeadLetterQueue['send']): Promise<number> {
  return spill.drain({ send, close: async () => {} })
}

async function fill(spill: Spill, make: Factory, count: number): Promise<DeadLetter[]> {
  const letters = Array.from({ length: count }, () => make.letter())
  for (const letter of letters) await spill.send(letter)
  return letters
}

/** Accepts a number of letters and then rejects. */
function refusingAfter(target: DeadLetterQueue, count: number): DeadLetterQueue & { readonly asked: number } {
  const queue = {
    asked: 0,
    async send(letter: DeadLetter) {
      if (++queue.asked > count) throw new Error('the store is down')
      await target.send(letter)
    },
    close: () => target.close(),
  }
  return queue
}

/** Always rejects these letters, and accepts all others. */
function refusingOnly(target: DeadLetterQueue, refused: readonly DeadLetter[]): DeadLetterQueue {
  const ids = new Set(idsOf(refused))
  return {
    async send(letter) {
      if (ids.has(letter.id)) throw new Error('this letter is refused')
      await target.send(letter)
    },
    close: () => target.close(),
  }
}

function idsOf(letters: readonly DeadLetter[]): string[] {
  return [...new Set(letters.map(letter => letter.id))].sort()
}
