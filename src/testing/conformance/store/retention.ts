import assert from 'node:assert/strict'
import { EXPIRE_ACTION } from '../../../adapter-kit/expiry.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { Retention } from '../../../core/dead-letter/retention.ts'
import { LETTER_STATES, type LetterState } from '../../../core/dead-letter/state.ts'
import { applyRetention } from '../../../operations/retention.ts'
import { type StoreConformance, StoreWorld } from './suite.ts'

/** The transitions that bring a new letter into each state. */
const WAYS: Readonly<Record<LetterState, readonly LetterState[]>> = {
  dead: [],
  quarantined: ['quarantined'],
  replaying: ['replaying'],
  parked: ['parked'],
  resolved: ['replaying', 'resolved'],
  discarded: ['discarded'],
}

type Expiry = Pick<DeadLetter, 'expiresAt' | 'expiresAfterMs'>

async function bring(world: StoreWorld, state: LetterState, expiry: Expiry = {}): Promise<string> {
  const letter = { ...world.failedAt(world.timing.now(), new Error(state)), ...expiry }
  await world.send(letter)
  for (const to of WAYS[state])
    await world.store.deadLetters.change(letter.id, { to, at: world.timing.now() })
  return letter.id
}

async function bringAll(world: StoreWorld, expiry?: Expiry): Promise<void> {
  for (const state of LETTER_STATES) await bring(world, state, expiry)
}

async function left({ store }: StoreWorld): Promise<readonly string[]> {
  return Object.keys((await store.deadLetters.stats()).byState).sort()
}

async function expiries({ store }: StoreWorld) {
  return (await store.audit.list({ action: EXPIRE_ACTION })).entries.map(({ by, detail }) => ({ by, detail }))
}

/**
 * The time to live of a letter on real time. If the machine is too slow for the first, the test runs again with the
 * next.
 */
const REAL_MS = [300, 5_000]
const DRIVEN_MS = 60_000

class TooSlow extends Error {}

/** One test's view of a store with a retention of `lifeMs`. */
class RetentionWorld {
  readonly world: StoreWorld
  readonly lifeMs: number
  readonly #retention: Retention

  constructor(world: StoreWorld, lifeMs: number, retention: Retention) {
    this.world = world
    this.lifeMs = lifeMs
    this.#retention = retention
  }

  async apply(): Promise<void> {
    await applyRetention(this.world.store, this.#retention, this.world.timing.now())
  }

  async outlive(): Promise<void> {
    await this.world.timing.pass(this.lifeMs + 50)
    await this.apply()
  }

  /** Does work that must end within the time to live. Rejects with TooSlow if it took longer. */
  async inTime(work: () => Promise<void>): Promise<void> {
    const { timing } = this.world
    const startedAt = timing.now()
    try {
      await work()
    } finally {
      // biome-ignore lint/correctness/noUnsafeFinally: what else went wrong followed from it
      if (timing.now() - startedAt >= this.lifeMs) throw new TooSlow(`not done in ${this.lifeMs} ms`)
    }
  }
}

/** Every store applies the retention rules, in its own way of deleting. */
export function retentionTests(suite: StoreConformance): void {
  const inWorldWith =
    (make: (lifeMs: number) => Retention) =>
    (name: string, run: (world: RetentionWorld) => Promise<void>): void => {
      suite.test(name, async () => {
        for (const lifeMs of REAL_MS)
          try {
            return await inLife(lifeMs, make, run)
          } catch (error) {
            if (lifeMs === REAL_MS.at(-1) || !(error instanceof TooSlow)) throw error
          }
      })
    }
  async function inLife(
    realMs: number,
    make: (lifeMs: number) => Retention,
    run: (world: RetentionWorld) => Promise<void>,
  ): Promise<void> {
    const retention = { driven: make(DRIVEN_MS), real: make(realMs) }
    const world = new StoreWorld(await suite.setup({ retention }))
    const lifeMs = world.fixture.clock === undefined ? realMs : DRIVEN_MS
    try {
      await run(new RetentionWorld(world, lifeMs, world.retention(retention)))
    } finally {
      await world.close()
    }
  }
  const itKeeps = inWorldWith(lifeMs => ({ retentionMs: lifeMs, expireUndecidedAfterMs: 'never' }))
  const itAsks = inWorldWith(lifeMs => ({ retentionMs: 'never', expireUndecidedAfterMs: lifeMs }))
  const itNever = inWorldWith(() => ({ retentionMs: 'never', expireUndecidedAfterMs: 'never' }))
  const UNDECIDED = ['dead', 'parked', 'quarantined', 'replaying']

  itKeeps(
    'E13, K9: retention deletes only decided letters, and the audit log has one entry for it',
    async of => {
      const { world } = of
      await of.inTime(async () => {
        await bringAll(world)
        await of.apply()
        assert.deepEqual(await left(world), [...LETTER_STATES].sort(), 'nothing goes before its time')
        assert.deepEqual(await expiries(world), [])
      })
      await of.outlive()
      assert.deepEqual(await left(world), UNDECIDED)
      const byState = { resolved: 1, discarded: 1 }
      assert.deepEqual(await expiries(world), [{ by: 'retention', detail: { letters: 2, byState } }])
      await of.apply()
      assert.equal((await expiries(world)).length, 1, 'a run that deletes nothing is not told of')
    },
  )

  itKeeps('E13: a restored letter is undecided again and is not deleted', async of => {
    const { world } = of
    const letters = world.store.deadLetters
    let id = ''
    await of.inTime(async () => {
      id = await bring(world, 'discarded')
      await letters.change(id, { to: 'dead', at: world.timing.now() })
    })
    await of.outlive()
    assert.equal((await letters.get(id))?.state, 'dead')
    await of.inTime(async () => {
      await letters.change(id, { to: 'discarded', at: world.timing.now() })
      await of.apply()
      assert.equal((await letters.get(id))?.state, 'discarded', 'its time begins again')
    })
    await of.outlive()
    assert.equal(await letters.get(id), undefined)
  })

  itAsks('K9: undecided letters expire only if configured, and replaying ones never', async of => {
    await of.inTime(() => bringAll(of.world))
    await of.outlive()
    assert.deepEqual(await left(of.world), ['discarded', 'replaying', 'resolved'])
    const byState = { dead: 1, quarantined: 1, parked: 1 }
    assert.deepEqual(await expiries(of.world), [{ by: 'retention', detail: { letters: 3, byState } }])
  })

  itAsks(
    "K9: an undecided letter that says 'never' stays where other undecided letters are deleted",
    async of => {
      await of.inTime(async () => {
        await bringAll(of.world, { expiresAfterMs: 'never' })
        await bring(of.world, 'dead')
      })
      await of.outlive()
      assert.deepEqual(await left(of.world), [...LETTER_STATES].sort())
      assert.equal((await of.world.store.deadLetters.stats({ state: 'dead' })).count, 1)
    },
  )

  itAsks('R2: the time of a letter itself counts before the one for all undecided letters', async of => {
    const later = { expiresAt: of.world.timing.now() + 1_000 * of.lifeMs }
    await of.inTime(async () => {
      await bring(of.world, 'dead', later)
      await bring(of.world, 'parked')
    })
    await of.outlive()
    assert.deepEqual(await left(of.world), ['dead'])
  })

  itKeeps("K9: a decided letter follows the retention of its store, also one that says 'never'", async of => {
    await of.inTime(() => bringAll(of.world, { expiresAfterMs: 'never' }))
    await of.outlive()
    assert.deepEqual(await left(of.world), UNDECIDED)
  })

  itNever('R2: a letter expires after its own time to live, but not while it is replaying', async of => {
    const { world } = of
    await of.inTime(() => bringAll(world, { expiresAt: world.timing.now() + of.lifeMs }))
    await bring(world, 'dead')
    await of.outlive()
    assert.deepEqual(await left(world), ['dead', 'replaying'])
    assert.equal((await world.store.deadLetters.stats()).count, 2)
  })
}
