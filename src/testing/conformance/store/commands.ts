import assert from 'node:assert/strict'
import type { Command, CommandOutcome, Commands } from '../../../ports/commands.ts'
import { inFleetWorld, LONG_MS, type StoreConformance } from './suite.ts'

/** A command to these instances. */
function commandOf(id: string, recipients: readonly string[], change: Partial<Command> = {}): Command {
  const task = { kind: 'pause', channel: 'orders' }
  return { v: 1, id, request: 'request', task, recipients, by: 'ann', reason: 'a release', ...change }
}

/** The id and state of each command of a request. */
async function shown(commands: Commands, request = 'request'): Promise<string[]> {
  return (await commands.get(request)).map(({ command, state }) => `${command.id} ${state}`)
}

async function claimed(commands: Commands, instance: string, limit = 100): Promise<string[]> {
  return (await commands.claim(instance, limit)).map(({ id }) => id)
}

const BAD_COMMANDS: readonly (readonly [change: object, message: RegExp])[] = [
  [{ id: '' }, /commands\[1\]\.id/],
  [{ request: 'a b' }, /commands\[1\]\.request/],
  [{ task: { channel: 'orders' } }, /commands\[1\]\.task/],
  [{ task: { kind: 'x', n: 1n } }, /commands\[1\]\.task/],
  [{ recipients: [''] }, /commands\[1\]\.recipients/],
  [{ by: '' }, /commands\[1\]\.by/],
]

/** What the port of commands promises. */
export function commandTests(suite: StoreConformance): void {
  const it = inFleetWorld(suite)
  const itDurable = inFleetWorld(suite, 'durable')

  it('B17: a command goes to its recipient whole, once, and its outcome is recorded', async ({
    commands,
  }) => {
    const task = { kind: 'breaker', to: 'open', deep: { list: [1, null, '\0 half \ud800'] } }
    const sent = commandOf('one', ['a'], { task, reason: undefined })
    await commands.send([sent], LONG_MS)
    assert.deepEqual(await commands.claim('b', 10), [])
    assert.deepEqual(await shown(commands), ['one waiting'])
    const { reason: _, ...kept } = sent
    assert.deepEqual(await commands.claim('a', 10), [kept])
    assert.deepEqual(await commands.claim('a', 10), [])
    assert.deepEqual(await shown(commands), ['one claimed'])
    assert.equal(await commands.finish('one', 'a', { ok: true, result: { breakers: 2 } }), true)
    const [record] = await commands.get('request')
    assert(record !== undefined)
    assert.deepEqual(record.command, kept)
    assert.deepEqual([record.state, record.claimedBy], ['done', 'a'])
    assert.deepEqual(record.outcome, { ok: true, result: { breakers: 2 } })
    assert(record.sentAt <= record.claimedAt! && record.claimedAt! <= record.endedAt!)
    assert.equal(record.expiresAt, record.sentAt + LONG_MS)
    assert.deepEqual(await commands.get('unheard-of'), [])
  })

  it('B18: the store states how long ago a command was claimed', async world => {
    const { commands, timing } = world
    const { clock } = world.fixture
    await commands.send([commandOf('one', ['a'])], LONG_MS)
    const agesMs = async () => {
      const records = [await commands.get('request'), await commands.list(10)]
      return records.map(([record]) => record?.claimedAgoMs)
    }
    assert.deepEqual(await agesMs(), [undefined, undefined])
    await claimed(commands, 'a')
    await timing.pass(50)
    // Timers and stores round to whole milliseconds.
    for (const ageMs of await agesMs()) assert(ageMs !== undefined && ageMs >= 40 && ageMs < LONG_MS)
    if (clock?.jump === undefined) return
    clock.jump(-LONG_MS)
    assert.deepEqual(await agesMs(), [LONG_MS - 50, LONG_MS - 50])
  })

  it('B17: only the claimer finishes a command, and only once', async ({ commands }) => {
    await commands.send([commandOf('one', ['a', 'b'])], LONG_MS)
    assert.equal(await commands.finish('one', 'a', { ok: true }), false)
    assert.deepEqual(await claimed(commands, 'a'), ['one'])
    assert.equal(await commands.finish('one', 'b', { ok: true }), false)
    assert.equal(await commands.finish('unheard-of', 'a', { ok: true }), false)
    assert.equal(await commands.finish('one', 'a', { ok: false, error: 'no breaker' }), true)
    assert.equal(await commands.finish('one', 'a', { ok: true }), false)
    const [record] = await commands.get('request')
    assert.deepEqual([record?.state, record?.outcome], ['failed', { ok: false, error: 'no breaker' }])
  })

  it('B17: of many concurrent claims of a command exactly one gets it', async world => {
    const { commands } = world
    const other = (await world.openSecond()).commands!
    const ids = Array.from({ length: 20 }, (_, index) => `c-${index}`)
    await commands.send(
      ids.map(id => commandOf(id, ['a', 'b', 'c'])),
      LONG_MS,
    )
    const rounds = Array.from({ length: 30 }, (_, index) =>
      claimed(index % 2 === 0 ? commands : other, ['a', 'b', 'c'][index % 3]!, 3),
    )
    const got = (await Promise.all(rounds)).flat()
    assert.deepEqual(got.toSorted(), ids.toSorted())
  })

  it('B17: claims take the oldest first, up to the limit', async ({ commands, timing }) => {
    for (const id of ['third', 'first', 'second']) {
      await commands.send([commandOf(id, ['a']), commandOf(`${id}-next`, ['a'])], LONG_MS)
      await timing.pass(2)
    }
    const order = ['third', 'third-next', 'first', 'first-next', 'second', 'second-next']
    assert.deepEqual(
      await shown(commands),
      order.map(id => `${id} waiting`),
    )
    assert.deepEqual(await claimed(commands, 'a', 2), ['third', 'third-next'])
    assert.deepEqual(await claimed(commands, 'a', 1), ['first'])
    assert.deepEqual(await claimed(commands, 'a', 10), ['first-next', 'second', 'second-next'])
    const newest = (await commands.list(3)).map(({ command }) => command.id)
    assert.deepEqual(newest, ['second-next', 'second', 'first-next'])
    assert.equal((await commands.list(100)).length, 6)
  })

  it('B17: a command that nobody claims in time expires and is never executed', async ({
    commands,
    timing,
  }) => {
    await timing.untilInTime(async delayMs => {
      const [late, silent] = [`late-${delayMs}`, `silent-${delayMs}`]
      const expireAt = timing.now() + delayMs
      await commands.send([commandOf(late, ['a']), commandOf(silent, ['b'])], delayMs)
      const taken = await claimed(commands, 'b')
      if (timing.now() >= expireAt) return false
      assert.deepEqual(taken, [silent])
      await timing.pass(delayMs + 1)
      assert.deepEqual(await claimed(commands, 'a'), [])
      const states = async () => (await shown(commands)).filter(each => each.includes(`-${delayMs} `))
      assert.deepEqual(await states(), [`${late} expired`, `${silent} unanswered`])
      assert.equal(await commands.finish(silent, 'b', { ok: true }), true)
      assert.deepEqual(await states(), [`${late} expired`, `${silent} done`])
      return true
    }, 'a claim')
  })

  it('B17: a command that has expired is not given out when the clock is set', async world => {
    const { commands } = world
    const { clock } = world.fixture
    if (clock?.jump === undefined) return
    await commands.send([commandOf('one', ['a', 'b']), commandOf('two', ['b'])], LONG_MS)
    clock.jump(-LONG_MS)
    assert.deepEqual(await claimed(commands, 'a'), [])
    clock.jump(LONG_MS)
    assert.deepEqual(await claimed(commands, 'b'), ['two'])
    assert.deepEqual(await shown(commands), ['one expired', 'two claimed'])
  })

  it('B17: a command that was shown as over stays so when the clock comes round to its time again', async world => {
    const { commands } = world
    const { clock } = world.fixture
    if (clock?.jump === undefined) return
    const [listed, sent] = [commandOf('listed', ['b'], { request: 'other' }), ['one', 'two']]
    await commands.send([...sent.map(id => commandOf(id, [id])), listed], LONG_MS)
    assert.deepEqual(await claimed(commands, 'two'), ['two'])
    const over = ['one expired', 'two unanswered']
    clock.jump(-LONG_MS)
    assert.deepEqual(await shown(commands), over)
    assert.equal((await commands.list(1))[0]?.state, 'expired')
    clock.jump(LONG_MS)
    assert.deepEqual(await shown(commands), over)
    assert.deepEqual(await shown(commands, 'other'), ['listed expired'])
    for (const instance of ['one', 'two', 'b']) assert.deepEqual(await claimed(commands, instance), [])
    assert.equal(await commands.finish('two', 'two', { ok: true }), true)
    assert.deepEqual(await shown(commands), ['one expired', 'two done'])
    assert.equal(await commands.purge(Number.MAX_SAFE_INTEGER), 3)
  })

  it('B17: expired commands do not count towards the limit of a claim', async ({ commands, timing }) => {
    const expiring = ['one', 'two', 'three'].map(id => commandOf(id, ['a']))
    await commands.send(expiring, timing.delayMs)
    await timing.pass(timing.delayMs + 1)
    await commands.send([commandOf('four', ['a', 'a']), commandOf('five', ['a'])], LONG_MS)
    assert.deepEqual(await claimed(commands, 'a', 1), ['four'])
    assert.deepEqual(await claimed(commands, 'a', 2), ['five'])
  })

  it('B17: sending again changes nothing, and an invalid command sends none', async ({
    commands,
    timing,
  }) => {
    await commands.send([commandOf('one', ['a'])], LONG_MS)
    await claimed(commands, 'a')
    const stored = async () => ({ ...(await commands.get('request'))[0], claimedAgoMs: undefined })
    const first = await stored()
    await timing.pass(2)
    await commands.send([commandOf('two', ['a']), commandOf('one', ['a', 'b'], { by: 'bob' })], 2 * LONG_MS)
    assert.deepEqual(await stored(), first)
    assert.deepEqual(await claimed(commands, 'b'), [])
    assert.deepEqual(await shown(commands), ['one claimed', 'two waiting'])
    const code = 'LAZARET_OPTIONS_INVALID'
    for (const [change, message] of BAD_COMMANDS) {
      const bad = { ...commandOf('four', ['a']), ...change } as Command
      await assert.rejects(commands.send([commandOf('three', ['a']), bad], LONG_MS), { code, message })
    }
    await assert.rejects(commands.send([], 0), { code, message: /ttlMs/ })
    await assert.rejects(commands.claim('a', 0), { code, message: /limit/ })
    await assert.rejects(commands.finish('one', 'a', { ok: 'yes' } as unknown as CommandOutcome), {
      code,
      message: /outcome/,
    })
    assert.deepEqual(await shown(commands), ['one claimed', 'two waiting'])
  })

  it('B17: a purge deletes commands that are over, and returns their number', async ({
    commands,
    timing,
  }) => {
    await commands.send([commandOf('expired', ['a'])], timing.delayMs)
    await commands.send([commandOf('done', ['b']), commandOf('waiting', ['c'])], LONG_MS)
    await claimed(commands, 'b')
    await commands.finish('done', 'b', { ok: true })
    await timing.pass(timing.delayMs + 1)
    const [first] = await commands.get('request')
    assert.equal(await commands.purge(first!.sentAt), 0)
    assert.equal(await commands.purge(first!.sentAt + LONG_MS), 2)
    assert.deepEqual(await shown(commands), ['waiting waiting'])
    assert.deepEqual(await claimed(commands, 'c'), ['waiting'])
  })

  it('B17: a listener is notified of commands for its instance', async world => {
    const { commands, timing } = world
    if (commands.onCommand === undefined) return
    const sender = (await world.openSecond()).commands!
    let calls = 0
    const end = commands.onCommand('a', () => void calls++)
    // A listener may need a moment until the server knows it, so commands are sent until it is called.
    let sent = 0
    await timing.eventually(async () => {
      if (calls === 0) await sender.send([commandOf(`c-${sent++}`, ['a'])], LONG_MS)
      return calls > 0
    }, 'a listener is notified of a command')
    end()
    end()
  })

  it('F8: calls to commands after close reject as closed', async ({ commands, store }) => {
    await store.close()
    const closed = { code: 'LAZARET_STORE_CLOSED' }
    await assert.rejects(commands.send([commandOf('one', ['a'])], LONG_MS), closed)
    await assert.rejects(commands.claim('a', 1), closed)
    await assert.rejects(commands.finish('one', 'a', { ok: true }), closed)
    await assert.rejects(commands.get('request'), closed)
    await assert.rejects(commands.list(1), closed)
    await assert.rejects(commands.purge(0), closed)
  })

  itDurable('B17: commands, claims and outcomes survive a restart', async world => {
    const { commands: before } = world
    await before.send(
      ['done', 'claimed', 'waiting'].map(id => commandOf(id, [id])),
      LONG_MS,
    )
    await claimed(before, 'done')
    await before.finish('done', 'done', { ok: true })
    await claimed(before, 'claimed')
    const { commands } = await world.reopen()
    assert(commands !== undefined)
    assert.deepEqual(await shown(commands), ['done done', 'claimed claimed', 'waiting waiting'])
    assert.deepEqual(await claimed(commands, 'claimed'), [])
    assert.deepEqual(await claimed(commands, 'waiting'), ['waiting'])
  })
}
