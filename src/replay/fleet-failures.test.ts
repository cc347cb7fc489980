import { afterEach, describe, expect, it } from 'vitest'
import { deliveryWorld } from '../../test/support/delivery-world.ts'
import type { CommandOutcome } from '../ports/commands.ts'
import type { FleetMembership } from '../runtime/fleet/join-fleet.ts'
import { pauseReplay, resumeReplay } from './control.ts'

const members: FleetMembership[] = []
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

function world(letters: number) {
  const base = deliveryWorld(letters)
  closing.push(() => base.until(Promise.all(members.splice(0).map(member => member.close()))))
  return Object.assign(base, {
    async joinAs(...given: Parameters<typeof base.join>) {
      const member = await base.join(...given)
      members.push(member)
      await base.clock.advance(1_000)
      return member
    },
  })
}

describe('a process that does not send the letters of a replay', () => {
  it('B18: ends the run after a minute with its error, and the next run continues', async () => {
    const { clock, store, fail, joinAs, start, run, until, published } = world(3)
    await fail()
    const { fleet, commands } = store
    const { id: part } = await joinAs('part', { store: { fleet, commands } })
    const id = await start()
    const from = clock.now()
    await expect(until(run(id))).rejects.toMatchObject({
      code: 'LAZARET_REPLAY_UNDELIVERED',
      message: `replay ${id} is not delivered: the process ${part}, which consumes orders/ship from 'rabbitmq', could not send the letters: this process joined the fleet with a store that has no replays; give joinFleet() the whole store; fix that, and the next run continues the replay`,
    })
    expect(clock.now() - from).toBeGreaterThanOrEqual(60_000)
    expect(await store.replays.get(id)).toMatchObject({
      state: 'running',
      problem: { reason: expect.stringMatching(/^the process .* give joinFleet\(\) the whole store$/) },
    })
    await joinAs('whole')
    expect((await until(run(id))).state).toBe('finished')
    expect(await store.replays.counts(id)).toMatchObject({ recovered: 3 })
    expect(published).toHaveLength(3)
  })

  it('B18: is the problem of the replay since its first failure, until a letter is sent or the state changes', async () => {
    const { clock, store, fail, joinAs, start, run, until, reach, shop, published } = world(8)
    await fail()
    const { fleet, commands } = store
    const part = await joinAs('part', { store: { fleet, commands } })
    const id = await start({ stages: ['rest'], perSecond: 1 })
    const problemOf = async () => (await store.replays.get(id))?.problem
    const from = clock.now()
    await expect(until(run(id))).rejects.toThrow('is not delivered')
    const first = await problemOf()
    expect(first?.since).toBeLessThan(from + 10_000)
    // The next run fails too, for another reason. The problem is as old as before.
    await until(part.close())
    await joinAs('shop')
    shop.beforePublish = () => Promise.reject(new Error('the broker is away'))
    const running = run(id)
    await clock.advance(40_000)
    expect(await problemOf()).toEqual({
      reason: expect.stringContaining('could not send the letters: the broker is away'),
      since: first!.since,
    })
    await pauseReplay(store, id, { by: 'ann', clock })
    expect((await until(running)).problem).toBeUndefined()
    await resumeReplay(store, id, { by: 'ann', clock })
    const again = run(id)
    await clock.advance(40_000)
    expect(await problemOf()).toBeDefined()
    shop.beforePublish = async () => {}
    await reach(() => published.length === 1)
    await clock.advance(3_000)
    expect(await store.replays.get(id)).toMatchObject({ state: 'running', problem: undefined })
    expect((await until(again)).state).toBe('finished')
  })

  it('B18, P2: ends the run with an error that hides masked values, and the store keeps the reason as it is', async () => {
    const { store, fail, joinAs, start, run, until, shop } = world(1)
    await fail()
    await joinAs('shop')
    const patch = [{ op: 'add', path: '/password', value: 'hunter2' }] as const
    const id = await start({ patch })
    shop.beforePublish = () => Promise.reject(new Error('no user has hunter2'))
    const error = await until(run(id)).catch((caught: unknown) => caught)
    expect(String(error)).toMatch(/could not send the letters: no user has \*\*\*; fix that/)
    expect((error as Error).stack).not.toContain('hunter2')
    expect((await store.replays.get(id))?.problem?.reason).toContain('no user has hunter2')
    shop.beforePublish = async () => {}
  })

  it('B18: ends the run when it lives and takes nothing', async () => {
    const { store, fail, joinAs, start, run, until } = world(1)
    await fail()
    await joinAs('silent', { store: { fleet: store.fleet } })
    const id = await start()
    await expect(until(run(id))).rejects.toThrow(
      "is not delivered: a living process consumes orders/ship from 'rabbitmq', but none took the letters;",
    )
  })

  it('B18: returns the letters that nobody took when the process is gone', async () => {
    const { store, fail, joinAs, start, run, until } = world(1)
    await fail()
    const silent = await joinAs('silent', { store: { fleet: store.fleet } })
    const id = await start()
    await expect(until(run(id))).rejects.toThrow('none took the letters')
    await until(silent.close())
    expect((await until(run(id))).state).toBe('finished')
    expect(await store.replays.items(id)).toMatchObject([{ status: 'skipped', decision: 'skip_unreachable' }])
    expect((await store.deadLetters.stats()).byState).toEqual({ dead: 1 })
  })

  it('B18: is waited for as long as ever when it has left and the clock is set back', async () => {
    const { clock, fail, joinAs, start, run, until, reach, published } = world(2)
    await fail()
    const shop = await joinAs('shop')
    const id = await start({ perSecond: 1, stages: ['rest'] })
    const running = run(id)
    await reach(() => published.length === 1)
    await until(shop.close())
    clock.jump(-3_600_000)
    const leftAt = clock.monotonic()
    await expect(until(running)).rejects.toThrow('no living process consumes orders/ship')
    expect(clock.monotonic() - leftAt).toBeLessThan(180_000)
  })

  it('B18: does not end the run if it sends again within the minute', async () => {
    const { clock, store, fail, joinAs, start, run, until, shop } = world(2)
    await fail()
    await joinAs('shop')
    const id = await start()
    const worksAt = clock.now() + 50_000
    shop.beforePublish = async () => {
      if (clock.now() < worksAt) throw new Error('the broker restarts')
    }
    expect((await until(run(id))).state).toBe('finished')
    expect(await store.replays.counts(id)).toMatchObject({ recovered: 2 })
  })

  it.each<[what: string, outcome: CommandOutcome]>([
    ['no result', { ok: true }],
    ['a result of another form', { ok: true, result: { sent: 1, refused: 'none' } }],
    ['refusals of another form', { ok: true, result: { sent: 0, refused: [null] } }],
  ])('B18: is avoided if it answers with %s, and another one sends the letters', async (_, outcome) => {
    const { store, fail, joinAs, start, run, until, published } = world(3)
    await fail()
    const commands = Object.assign(Object.create(store.commands!) as NonNullable<typeof store.commands>, {
      finish: (id: string, instance: string) => store.commands!.finish(id, instance, outcome),
    })
    // Without replays it sends nothing.
    await joinAs('later', { store: { fleet: store.fleet, commands } })
    const id = await start()
    const running = run(id)
    await joinAs('shop')
    expect((await until(running)).state).toBe('finished')
    expect(await store.replays.counts(id)).toMatchObject({ recovered: 3 })
    expect(published.every(each => each.startsWith('shop '))).toBe(true)
  })
})
