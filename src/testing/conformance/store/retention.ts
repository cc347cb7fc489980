import assert from 'node:assert/strict'
import type { Retention } from '../../../core/dead-letter/retention.ts'
import { LETTER_STATES, type LetterState } from '../../../core/dead-letter/state.ts'
import { applyRetention } from '../../../operations/retention.ts'
import { EXPIRE_ACTION } from '../../../ports/expiry.ts'
import { inStoreWorld, type StoreConformance, type StoreWorld } from './suite.ts'

/** How a letter that is new comes to each state. */
const WAYS: Readonly<Record<LetterState, readonly LetterState[]>> = {
  dead: [],
  quarantined: ['quarantined'],
  replaying: ['replaying'],
  parked: ['parked'],
  resolved: ['replaying', 'resolved'],
  discarded: ['discarded'],
}

async function bring(world: StoreWorld, state: LetterState, expiresAt?: number): Promise<string> {
  const letter = { ...world.letterAt(world.patience.now(), new Error(state)), expiresAt }
  await world.send(letter)
  for (const to of WAYS[state])
    await world.store.deadLetters.change(letter.id, { to, at: world.patience.now() })
  return letter.id
}

async function bringAll(world: StoreWorld, expiresAt?: number): Promise<void> {
  for (const state of LETTER_STATES) await bring(world, state, expiresAt)
}

async function left({ store }: StoreWorld): Promise<readonly string[]> {
  return Object.keys((await store.deadLetters.stats()).byState).sort()
}

async function expiries({ store }: StoreWorld) {
  return (await store.audit.list({ action: EXPIRE_ACTION })).entries.map(({ by, detail }) => ({ by, detail }))
}

/** What core/dead-letter/retention promises, of every store and by whatever means it deletes. */
export function retentionTests(suite: StoreConformance): void {
  const inWorldWith = (make: (delayMs: number) => Retention) => {
    const retentions = { driven: make(60_000), real: make(300) }
    const it = inStoreWorld(suite, undefined, retentions)
    return (name: string, run: (world: StoreWorld, apply: () => Promise<unknown>) => Promise<void>) =>
      it(name, world => {
        const retention = world.retention(retentions)
        return run(world, () => applyRetention(world.store, retention, world.patience.now()))
      })
  }
  const itKeeps = inWorldWith(delayMs => ({ retentionMs: delayMs, expireUndecidedAfterMs: 'never' }))
  const itAsks = inWorldWith(delayMs => ({ retentionMs: 'never', expireUndecidedAfterMs: delayMs }))
  const itNever = inWorldWith(() => ({ retentionMs: 'never', expireUndecidedAfterMs: 'never' }))
  const UNDECIDED = ['dead', 'parked', 'quarantined', 'replaying']

  itKeeps(
    'E13, K9: retention deletes decided letters alone, and the audit has one entry for it',
    async (world, apply) => {
      await bringAll(world)
      await apply()
      assert.deepEqual(await left(world), [...LETTER_STATES].sort(), 'nothing goes before its time')
      assert.deepEqual(await expiries(world), [])
      await world.patience.pass(world.patience.delayMs + 50)
      await apply()
      assert.deepEqual(await left(world), UNDECIDED)
      const byState = { resolved: 1, discarded: 1 }
      assert.deepEqual(await expiries(world), [{ by: 'retention', detail: { letters: 2, byState } }])
      await apply()
      assert.equal((await expiries(world)).length, 1, 'a run that deletes nothing is not told of')
    },
  )

  itKeeps(
    'E13: a letter whose decision is taken back is undecided again, and stays',
    async (world, apply) => {
      const id = await bring(world, 'discarded')
      await world.store.deadLetters.change(id, { to: 'dead', at: world.patience.now() })
      await world.patience.pass(world.patience.delayMs + 50)
      await apply()
      assert.equal((await world.store.deadLetters.get(id))?.state, 'dead')
      await world.store.deadLetters.change(id, { to: 'discarded', at: world.patience.now() })
      await apply()
      assert.equal((await world.store.deadLetters.get(id))?.state, 'discarded', 'its time begins anew')
      await world.patience.pass(world.patience.delayMs + 50)
      await apply()
      assert.equal(await world.store.deadLetters.get(id), undefined)
    },
  )

  itAsks(
    'K9: undecided letters expire where that was asked for, and a replaying one never',
    async (world, apply) => {
      await bringAll(world)
      await world.patience.pass(world.patience.delayMs + 50)
      await apply()
      assert.deepEqual(await left(world), ['discarded', 'replaying', 'resolved'])
      const byState = { dead: 1, quarantined: 1, parked: 1 }
      assert.deepEqual(await expiries(world), [{ by: 'retention', detail: { letters: 3, byState } }])
    },
  )

  itNever(
    'R2: a time to live of its own ends a letter, but not while it is replaying',
    async (world, apply) => {
      await bringAll(world, world.patience.now() + world.patience.delayMs)
      await bring(world, 'dead')
      await world.patience.pass(world.patience.delayMs + 50)
      await apply()
      assert.deepEqual(await left(world), ['dead', 'replaying'])
      assert.equal((await world.store.deadLetters.stats()).count, 2)
    },
  )
}
