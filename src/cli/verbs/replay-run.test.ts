import { afterEach, describe, expect, it } from 'vitest'
import { cliWorld } from '../../../test/support/cli.ts'
import { createWorldAfterOutage, removeFolders } from '../../../test/support/cli-replay.ts'
import { startSending } from '../../../test/support/letter-being-sent.ts'
import { settle } from '../../testing/fake-clock.ts'

afterEach(removeFolders)

describe('replay start, pause, resume, cancel', () => {
  it('B12: runs in the foreground until every outcome is known', async () => {
    const { running, plan, shop, lazaret } = await createWorldAfterOutage(12)
    shop.isBroken = false
    const id = await plan()
    const { code, json, err } = await running({}, 'replay', 'start', id, '--json')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(json).toMatchObject([{ id, state: 'finished', outcomes: { recovered: 12, waiting: 0 } }])
    expect(shop.handled).toHaveLength(12)
    expect((await lazaret('replay', 'show', id)).out).toContain('Outcomes\n  recovered  12\n')
    expect((await lazaret('replay', 'list')).out).toContain(`${id}  finished  12`)
    expect((await lazaret('replay', 'list', '--state', 'running', '--json')).json).toEqual([])
    expect((await lazaret('replay', 'start', id)).err).toContain(
      `replay ${id} is finished and cannot be started; make a new plan with 'lazaret replay plan'`,
    )
  })

  it('B11: a handler still broken halts it after one letter: failed', async () => {
    const { running, plan, store } = await createWorldAfterOutage(12)
    const id = await plan()
    const { code, out, err } = await running({}, 'replay', 'start', id)
    expect(code).toBe(1)
    expect(out).toContain(`replay ${id}  halted`)
    expect(out).toContain('the cause is not fixed')
    expect(err).toBe(
      `1 letter failed again and will not be sent again by this replay; fix the cause, then plan another: lazaret replay plan
11 letters not sent yet; send them with: lazaret replay resume ${id}
`,
    )
    expect(await store.replays.counts(id)).toMatchObject({ failed_same_cause: 1, waiting: 11 })
  })

  it('B11: on a terminal it shows how far it is, its rate and the time left', async () => {
    const { running, plan, shop } = await createWorldAfterOutage(60)
    shop.isBroken = false
    const id = await plan('--stages', '30,rest', '--per-second', '10')
    const { err } = await running({ columns: 100 }, 'replay', 'start', id)
    expect(err).toMatch(/\[█+░+\] \d+% \d+\/60 · [\d.]+\/s · [\d.]+s left · stage [12] of 2 · \d+ recovered/)
  })

  it('B11: Ctrl-C pauses it cleanly, resume takes it from there: each done in part, then done', async () => {
    const { running, plan, shop, store } = await createWorldAfterOutage(40)
    shop.isBroken = false
    const id = await plan('--stages', 'rest', '--per-second', '10')
    const stop = new AbortController()
    const paused = await running(
      { interrupted: stop.signal, afterMs: 1_500, meanwhile: () => stop.abort() },
      'replay',
      'start',
      id,
      '--json',
    )
    expect(paused).toMatchObject({
      code: 3,
      json: [{ state: 'paused', stateReason: 'interrupted', by: 'ann' }],
    })
    expect(paused.err).toBe(
      `interrupted: the sent letters are recorded, and the others wait; resume with: lazaret replay resume ${id}\n`,
    )
    expect((await store.replays.counts(id)).waiting).toBeGreaterThan(0)
    const ended = await running({}, 'replay', 'resume', id, '--json')
    expect(ended).toMatchObject({ code: 0, json: [{ state: 'finished', outcomes: { recovered: 40 } }] })
  })

  it('B11: resume also takes up what lost its runner', async () => {
    const { running, plan, shop, store } = await createWorldAfterOutage(3)
    shop.isBroken = false
    const id = await plan()
    const replay = (await store.replays.get(id))!
    await store.replays.update({ ...replay, state: 'running' })
    expect(await running({}, 'replay', 'resume', id)).toMatchObject({ code: 0 })
  })

  it('B11: pause and cancel work from another terminal', async () => {
    const { running, plan, shop, lazaret } = await createWorldAfterOutage(40)
    shop.isBroken = false
    const id = await plan('--stages', 'rest', '--per-second', '10')
    const pause = () => lazaret('replay', 'pause', id, '--note', 'lunch')
    expect((await running({ afterMs: 1_000, meanwhile: pause }, 'replay', 'start', id)).out).toContain(
      'note     lunch (ann)',
    )
    expect(await lazaret('replay', 'cancel', id, '--json')).toMatchObject({
      code: 0,
      json: [{ state: 'cancelled' }],
    })
    expect((await lazaret('replay', 'pause', id)).code).toBe(1)
  })

  it('B18: cancel says that a process may still be sending letters, and how to look at them', async () => {
    const { lazaret, bury, factory, store, clock } = cliWorld()
    const [letter] = await bury(factory.letter())
    const id = await startSending(store, letter!, clock)
    const { code, err } = await lazaret('replay', 'cancel', id)
    expect({ code, err }).toEqual({
      code: 0,
      err: 'a process may still be sending 1 letter; in a minute, see what became of it: lazaret replay show r\n',
    })
    await clock.advance(60_000)
    expect(await lazaret('replay', 'show', id)).toMatchObject({ code: 0, err: '' })
    expect((await store.deadLetters.get(letter!.id))?.state).toBe('dead')
  })

  it('B12: show tells what became of the letters of a replay that was stopped', async () => {
    const { running, plan, shop, lazaret, clock, store } = await createWorldAfterOutage(40)
    shop.isBroken = false
    const id = await plan('--stages', 'rest', '--per-second', '10')
    const cancel = () => lazaret('replay', 'cancel', id)
    await running({ afterMs: 1_000, meanwhile: cancel }, 'replay', 'start', id)
    await clock.advance(1_000)
    const [last] = await store.replays.items(id, { status: 'recovered', limit: 1 })
    await store.replays.record(id, [{ ...last!, status: 'sent', endedAt: undefined }])
    expect((await lazaret('replay', 'show', id, '--json')).json[0].outcomes).toMatchObject({ sent: 0 })
  })

  it('B10: a plan that needs it is approved by a second person first', async () => {
    const { plan, lazaret } = await createWorldAfterOutage(1)
    const id = await plan('--needs-approval')
    expect((await lazaret('replay', 'start', id)).err).toContain(
      'is planned and cannot be started; only approved replays can',
    )
    expect((await lazaret('replay', 'approve', id)).err).toContain('another person must approve it')
    expect((await lazaret('replay', 'approve', id, '--by', 'bob')).out).toContain('approval  by bob')
  })

  it('F8: a large one is asked about, or needs --yes', async () => {
    const { plan, lazaret, running, shop } = await createWorldAfterOutage(101)
    shop.isBroken = false
    const id = await plan()
    const refused = await lazaret('replay', 'start', id)
    expect(refused.code).toBe(2)
    expect(refused.err).toContain(
      'Replay 101 letters (mended) in stages of 1, 10, 100, rest at 50 per second?',
    )
    const no = await running({ columns: 80, answer: '' }, 'replay', 'start', id)
    expect(no).toMatchObject({ code: 1, err: expect.stringContaining('nothing was sent') })
    expect(await running({}, 'replay', 'start', id, '--yes')).toMatchObject({ code: 0 })
  })

  it('B12: says so when nothing comes back', async () => {
    const { lazaretWith, factory, bury, clock, lazaret, store } = cliWorld()
    await bury(factory.letter())
    const id = (await lazaret('replay', 'plan', '--reason', 'r', '--json')).json[0].id
    const stop = new AbortController()
    const env = { LAZARET_STORE: 'memory:' }
    const running = lazaretWith({ env, interrupted: stop.signal }, 'replay', 'start', id)
    while ((await store.replays.list({ state: 'running' })).length === 0) await settle()
    for (let s = 0; s < 12; s++) await clock.advance(1_000)
    stop.abort()
    expect((await running).err).toContain(
      'no outcome within 5 s for 1 sent letter; check that a consumer of the channel is running',
    )
  })

  it('F8: an unknown replay fails in one line', async () => {
    const { lazaret } = cliWorld()
    const err = "lazaret: no replay has the ID nope; run 'lazaret replay list' to see the IDs\n"
    for (const verb of ['show', 'start', 'resume', 'pause', 'cancel', 'approve'])
      expect(await lazaret('replay', verb, 'nope')).toMatchObject({ code: 1, err })
  })
})
