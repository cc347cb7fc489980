import assert from 'node:assert/strict'
import { canTransition, LETTER_STATES } from '../../../core/dead-letter/state.ts'
import { transition } from '../../../core/dead-letter/transition.ts'
import { type DeadLetterStoreConformance, inLetterWorld } from './suite.ts'

/** The changes that people and replays make to letters. */
export function changingTests(suite: DeadLetterStoreConformance): void {
  const it = inLetterWorld(suite)

  it('E9: an unknown id gives undefined or false', async ({ store, timing }) => {
    assert.equal(await store.get('no-such-id'), undefined)
    assert.equal(await store.change('no-such-id', { to: 'discarded', at: timing.now() }), undefined)
    assert.equal(await store.delete('no-such-id'), false)
  })

  it('E9: legal transitions change the state, and others reject and change nothing', async world => {
    for (const from of LETTER_STATES) {
      for (const to of LETTER_STATES) {
        const letter = { ...world.make.letter(), state: from }
        const change = { to, at: world.timing.now() + 1_000 }
        await world.send(letter)
        if (canTransition(from, to) || (from === to && to !== 'replaying')) {
          const expected = transition(letter, to, change.at)
          assert.deepEqual(await world.store.change(letter.id, change), expected, `${from} → ${to}`)
          assert.deepEqual(await world.store.get(letter.id), expected, `${from} → ${to} is stored`)
        } else {
          await assert.rejects(
            async () => world.store.change(letter.id, change),
            { code: 'LAZARET_TRANSITION_ILLEGAL' },
            `${from} → ${to}`,
          )
          assert.deepEqual(await world.store.get(letter.id), letter, `${from} → ${to} changes nothing`)
        }
      }
    }
  })

  it('K8: the transition to replaying counts the replay and stores its id', async world => {
    const letter = await world.sendNew()
    const at = world.timing.now()
    const replaying = { to: 'replaying', at, replayId: 'replay-1', by: 'ada' } as const
    const changed = await world.store.change(letter.id, replaying)
    assert.deepEqual([changed?.state, changed?.replays, changed?.replayId], ['replaying', 1, 'replay-1'])
  })

  it('K8: of many concurrent replays of a letter exactly one succeeds', async world => {
    const letter = await world.sendNew()
    const at = world.timing.now()
    const tries = await Promise.allSettled(
      Array.from({ length: 10 }, () => world.store.change(letter.id, { to: 'replaying', from: 'dead', at })),
    )
    const won = tries.filter(each => each.status === 'fulfilled' && each.value !== undefined)
    assert.equal(won.length, 1)
    assert.equal((await world.store.get(letter.id))?.replays, 1)
  })

  it('E9: a change with another expected state does nothing', async world => {
    const letter = await world.sendNew()
    const at = world.timing.now() + 1_000
    assert.equal(await world.store.change(letter.id, { to: 'discarded', from: 'parked', at }), undefined)
    assert.deepEqual(await world.store.get(letter.id), letter)
    const discarded = await world.store.change(letter.id, { to: 'discarded', from: 'dead', at })
    assert.equal(discarded?.state, 'discarded')
  })

  it('B18: a claim that comes when the letter was replayed in the meantime does nothing', async world => {
    const letter = await world.sendNew()
    const at = world.timing.now() + 1_000
    const claim = { to: 'replaying', from: 'dead', onlyIfReplays: 0, at } as const
    assert.equal((await world.store.change(letter.id, { ...claim, replayId: 'replay-1' }))?.replays, 1)
    const failed = await world.store.change(letter.id, { to: 'dead', at })
    assert.equal(await world.store.change(letter.id, { ...claim, replayId: 'replay-2' }), undefined)
    assert.deepEqual(await world.store.get(letter.id), failed)
    const next = { ...claim, onlyIfReplays: 1, replayId: 'replay-2' }
    assert.deepEqual((await world.store.change(letter.id, next))?.replays, 2)
  })

  it('F8: a change that was decided before the letter failed again does nothing', async world => {
    const letter = await world.sendNew()
    const seen = letter.cycle.lastFailedAt
    const at = world.timing.now() + 5_000
    await world.send(world.letterAt(at, { event: letter.event, replay: 1 }))
    const discard = { to: 'discarded', from: 'dead', at } as const
    assert.equal(await world.store.change(letter.id, { ...discard, onlyIfLastFailedAt: seen }), undefined)
    assert.equal((await world.store.get(letter.id))?.state, 'dead')
    const changed = await world.store.change(letter.id, { ...discard, onlyIfLastFailedAt: at })
    assert.equal(changed?.state, 'discarded')
  })

  for (const to of ['resolved', 'dead'] as const) {
    it(`B14: a replaying letter becomes ${to} only through its own event under its replay`, async world => {
      const letter = await world.sendNew()
      const at = world.timing.now() + 1_000
      const sent = { eventId: letter.event.id, replayId: 'replay-1', attempt: 1 }
      const change = (
        onlyIfSentBy: typeof sent | (Omit<typeof sent, 'replayId'> & { replayId: undefined }),
      ) => world.store.change(letter.id, { to, at, onlyIfSentBy })
      assert.equal(await change(sent), undefined, 'it is not replaying')
      const replaying = await world.store.change(letter.id, { to: 'replaying', at, replayId: 'replay-1' })
      const forged = [
        { ...sent, eventId: 'another-event' },
        { ...sent, replayId: 'replay-2' },
        { ...sent, replayId: undefined },
        { ...sent, attempt: 2 },
      ]
      for (const under of forged) assert.equal(await change(under), undefined, JSON.stringify(under))
      assert.deepEqual(await world.store.get(letter.id), replaying)
      assert.equal((await change(sent))?.state, to)
      assert.equal(await change(sent), undefined, 'it was told before')
    })
  }

  it('B14: a letter that SQL replays has no replay id, and an event with an id does not match it', async world => {
    const letter = await world.sendNew()
    const at = world.timing.now() + 1_000
    await world.store.change(letter.id, { to: 'replaying', at })
    const sent = { eventId: letter.event.id, replayId: undefined, attempt: 1 }
    const named = { ...sent, replayId: 'replay-1' }
    assert.equal(await world.store.change(letter.id, { to: 'resolved', at, onlyIfSentBy: named }), undefined)
    const resolved = await world.store.change(letter.id, { to: 'resolved', at, onlyIfSentBy: sent })
    assert.equal(resolved?.state, 'resolved')
  })

  it('E9: a changed letter is found by its new state and counted there', async world => {
    const letter = await world.sendNew()
    await world.store.change(letter.id, { to: 'parked', at: world.timing.now() })
    assert.deepEqual((await world.store.list({ state: 'dead' })).letters, [])
    assert.equal((await world.store.list({ state: 'parked' })).letters[0]?.id, letter.id)
    assert.deepEqual((await world.store.stats()).byState, { parked: 1 })
  })

  it('E9: a letter that has changed since it was read is not deleted', async world => {
    const { store, make } = world
    const letter = make.letter()
    await store.send(letter)
    const seen = { state: letter.state, lastFailedAt: letter.cycle.lastFailedAt }
    await store.change(letter.id, { to: 'parked', at: letter.updatedAt + 1 })
    assert.equal(await store.delete(letter.id, seen), false, 'its state has changed')
    assert.equal(await store.delete(letter.id, { ...seen, lastFailedAt: seen.lastFailedAt - 1 }), false)
    assert.equal((await store.get(letter.id))?.state, 'parked')
    assert.equal(await store.delete(letter.id, { ...seen, state: 'parked' }), true)
    assert.equal(await store.get(letter.id), undefined)
  })

  it('E9: a deleted letter is in no listing, and becomes a new letter when it is sent again', async world => {
    const [letter, other] = [world.make.letter(), world.make.letter()]
    await world.send(letter, other)
    assert.equal(await world.store.delete(letter.id), true)
    assert.equal(await world.store.delete(letter.id), false)
    assert.equal(await world.store.get(letter.id), undefined)
    assert.deepEqual((await world.store.list()).letters, [other])
    assert.equal((await world.store.stats()).count, 1)
    await world.send(letter)
    assert.deepEqual(await world.store.get(letter.id), letter)
  })
}
