import { describe, expect, it } from 'vitest'
import { MemoryLimit } from '../../adapters/memory/index.ts'
import type { TurnRequest } from '../../core/limit/fleet/bucket.ts'
import type { LimitMember, TurnReservation } from '../../ports/shared-limit.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { Recorder } from '../../testing/recorder.ts'
import { createRateLimiter, createRetryLimiter, type RetryLimiter } from '../limiters.ts'

/** A shared limit that can be unreachable: `gone` refuses immediately, `silent` never answers. */
class Keeper extends MemoryLimit {
  is: 'there' | 'gone' | 'silent' = 'there'
  readonly asks: { readonly limit: string; readonly want: number }[] = []

  override async reserve(limit: string, asked: TurnRequest, member: LimitMember): Promise<TurnReservation> {
    this.asks.push({ limit, want: asked.want })
    if (this.is === 'gone') throw new Error('connection refused')
    if (this.is === 'silent') return new Promise(() => {})
    return super.reserve(limit, asked, member)
  }
}

function world(assumedMembers = 10) {
  const clock = new FakeClock()
  const keeper = new Keeper({ clock, assumedMembers })
  const recorder = new Recorder()
  const owner = { name: 'orders', clock, observer: recorder.observer }
  return { clock, keeper, recorder, owner, begin: clock.now() }
}

/** Asks so many times at once; answers with when each may start, as it becomes known. */
function retries(limiter: RetryLimiter, clock: FakeClock, count: number): (number | string)[] {
  const starts: (number | string)[] = []
  for (let n = 0; n < count; n++) {
    const turn = limiter.ask(clock.now(), () => 0)
    const hear = (decided: { readonly action: string; readonly until?: number }, now: number) =>
      starts.push(decided.action === 'go' ? now : (decided.until ?? decided.action))
    if (turn.action === 'pending') turn.whenDecided(hear)
    else hear(turn, clock.now())
  }
  return starts
}

function mostInASecond(starts: readonly number[]): number {
  return Math.max(...starts.map(from => starts.filter(at => at >= from && at < from + 1_000).length))
}

describe('a retry limit that a fleet shares', () => {
  it('E4: two limiters start 100 retries a second together, each about half, none more than once', async () => {
    const { clock, keeper, owner, begin } = world()
    const limiters = [0, 1].map(() => createRetryLimiter({ perSecond: 100, shared: keeper }, owner))
    const starts = limiters.map(limiter => retries(limiter, clock, 500))
    await clock.advance(20_000)
    const all = starts.flat() as number[]
    expect(all).toHaveLength(1_000)
    expect(mostInASecond(all)).toBeLessThanOrEqual(101)
    expect(Math.max(...all)).toBeLessThan(begin + 10_500)
    const early = starts.map(own => own.filter(at => (at as number) < begin + 5_000).length)
    expect(Math.abs(early[0]! - early[1]!)).toBeLessThan(60)
    for (const limiter of limiters) await limiter.close()
    expect(clock.pending).toBe(0)
  })

  it('E4: about ten asks a second are enough, whatever the rate', async () => {
    const { clock, keeper, owner } = world(1)
    const limiter = createRetryLimiter({ perSecond: 2_000, shared: keeper }, owner)
    retries(limiter, clock, 20_000)
    await clock.advance(5_000)
    expect(keeper.asks.length).toBeLessThan(75)
    await limiter.close()
  })

  it('E4: a retry alone goes as soon as the answer is there, and is not told to be limited', async () => {
    const { clock, keeper, owner, begin } = world()
    const limiter = createRetryLimiter({ perSecond: 1, shared: keeper }, owner)
    const first = retries(limiter, clock, 1)
    await clock.advance(0)
    expect(first).toEqual([begin])
    const others = retries(limiter, clock, 2)
    await clock.advance(3_000)
    expect(others).toEqual([begin + 1_000, begin + 2_000])
    await limiter.close()
  })

  it.each(['gone', 'silent'] as const)(
    'E4: while the shared limit is %s, each member continues with its share',
    async away => {
      const { clock, keeper, owner, recorder, begin } = world()
      const limiters = [0, 1, 2, 3].map(() => createRetryLimiter({ perSecond: 100, shared: keeper }, owner))
      const starts = limiters.map(limiter => retries(limiter, clock, 1_000))
      await clock.advance(2_000)
      keeper.is = away
      await clock.advance(5_000)
      keeper.is = 'there'
      keeper.forget()
      await clock.advance(5_000)
      const all = (starts.flat() as number[]).filter(at => at < begin + 12_000)
      const rate = (from: number, to: number) =>
        (all.filter(at => at >= begin + from && at < begin + to).length * 1_000) / (to - from)
      expect(rate(1_000, 12_000)).toBeGreaterThan(95)
      expect(rate(1_000, 12_000)).toBeLessThan(105)
      expect(rate(3_000, 7_000)).toBeGreaterThan(95)
      expect(mostInASecond(all)).toBeLessThanOrEqual(130)
      const modes = recorder.of('sharedLimitChanged').map(({ mode }) => mode)
      expect(modes).toEqual([...Array(4).fill('alone'), ...Array(4).fill('together')])
      expect(recorder.of('sharedLimitChanged')[0]).toEqual({
        name: 'orders',
        limit: 'retry',
        mode: 'alone',
        members: 4,
      })
      for (const limiter of limiters) await limiter.close()
    },
  )

  it('E4: after an outage in which the shared limit forgot all members, the first to return takes no more than its share', async () => {
    const { clock, keeper, owner, begin } = world(4)
    const limiters = [0, 1, 2, 3].map(() => createRetryLimiter({ perSecond: 100, shared: keeper }, owner))
    const starts = limiters.map(limiter => retries(limiter, clock, 1_000))
    await clock.advance(2_000)
    keeper.is = 'gone'
    await clock.advance(20_000)
    keeper.is = 'there'
    await clock.advance(5_000)
    const back = (starts.flat() as number[]).filter(at => at >= begin + 20_000 && at < begin + 27_000)
    expect(mostInASecond(back)).toBeLessThanOrEqual(110)
    expect(back.length / 7).toBeGreaterThan(90)
    for (const limiter of limiters) await limiter.close()
  })

  it('E4: before anybody has answered, a member takes the share of one among those assumed', async () => {
    const { clock, keeper, owner, begin } = world(5)
    keeper.is = 'gone'
    const limiter = createRetryLimiter({ perSecond: 100, shared: keeper }, owner)
    const starts = retries(limiter, clock, 500) as number[]
    await clock.advance(10_000)
    expect(starts.filter(at => at < begin + 10_000).length / 10).toBeCloseTo(20, 0)
    await limiter.close()
  })

  it('E4: an event that would wait longer than maxWaitMs becomes a dead letter, and uses no turn', async () => {
    const { clock, keeper, owner } = world(2)
    const options = { perSecond: 10, maxWaitMs: 1_000, shared: keeper }
    const limiters = [0, 1].map(() => createRetryLimiter(options, owner))
    const own = limiters.map(limiter => retries(limiter, clock, 50))
    await clock.advance(5_000)
    const starts = own.flat()
    expect(starts).toHaveLength(100)
    const started = starts.filter(at => typeof at === 'number').length
    expect(started).toBeGreaterThanOrEqual(10)
    expect(started).toBeLessThanOrEqual(12)
    for (const limiter of limiters) await limiter.close()
  })

  it('E4: drop and dead-letter keep their meaning: over the limit there is no turn', async () => {
    const { clock, keeper, owner, begin } = world()
    const limiter = createRetryLimiter({ perSecond: 10, onLimit: 'drop', shared: keeper }, owner)
    const starts: (number | string)[] = []
    for (let n = 0; n < 100; n++) {
      const turns = retries(limiter, clock, 1)
      await clock.advance(20)
      starts.push(...turns)
    }
    const started = starts.filter(at => typeof at === 'number') as number[]
    expect(starts.filter(at => at === 'drop').length + started.length).toBe(100)
    expect(started.length).toBeGreaterThanOrEqual(18)
    expect(started.length).toBeLessThanOrEqual(21)
    expect(started[0]).toBe(begin)
    await limiter.close()
  })

  it('E4: a turn that is cancelled goes to the next', async () => {
    const { clock, keeper, owner, begin } = world()
    const limiter = createRetryLimiter({ perSecond: 1, shared: keeper }, owner)
    const first = limiter.ask(clock.now(), () => 0)
    if (first.action !== 'pending') throw new Error('the fleet has to be asked first')
    first.whenDecided(() => expect.unreachable())
    first.cancel()
    const second = retries(limiter, clock, 1)
    await clock.advance(0)
    expect(second).toEqual([begin])
    await limiter.close()
  })

  it('E5: a clock set back by an hour does not stop retries', async () => {
    const { clock, keeper, owner } = world(1)
    const limiter = createRetryLimiter({ perSecond: 10, shared: keeper }, owner)
    const starts = retries(limiter, clock, 100)
    await clock.advance(2_000)
    const before = starts.length
    clock.jump(-3_600_000)
    await clock.advance(3_000)
    expect(starts.length - before).toBeGreaterThan(25)
    await limiter.close()
  })
})

describe('a rate limit that a fleet shares', () => {
  it('E14: of 1500 at once in three processes, 1000 go through', async () => {
    const { clock, keeper, owner } = world()
    const limiters = [0, 1, 2].map(() => createRateLimiter({ perSecond: 1_000, shared: keeper }, owner))
    const now = clock.now()
    const answers = limiters.flatMap(limiter => Array.from({ length: 500 }, () => limiter.take(now)))
    await clock.advance(0)
    const at = await Promise.all(answers)
    // A few turns are taken ahead, for events that do not come.
    const letIn = at.filter(at => at <= now).length
    expect(letIn).toBeGreaterThan(995)
    expect(letIn).toBeLessThanOrEqual(1_000)
    for (const limiter of limiters) await limiter.close()
  })

  it('E14: a steady flow under the limit is let in at once, from turns taken ahead', async () => {
    const { clock, keeper, owner } = world(1)
    const limiter = createRateLimiter({ perSecond: 1_000, shared: keeper }, owner)
    let asked = 0
    let waited = 0
    for (let ms = 0; ms < 5_000; ms += 2) {
      const answer = limiter.take(clock.now())
      asked++
      if (typeof answer !== 'number') waited++
      await clock.advance(2)
      expect(await answer).toBeLessThanOrEqual(clock.now())
    }
    expect(waited / asked).toBeLessThan(0.05)
    expect(keeper.asks.length).toBeLessThan(200)
    await limiter.close()
  })

  it('E14: two processes that offer far more let the limit in together, within 5 %', async () => {
    const { clock, keeper, owner } = world()
    const limiters = [0, 1].map(() => createRateLimiter({ perSecond: 200, burst: 20, shared: keeper }, owner))
    let letIn = 0
    for (let ms = 0; ms < 10_000; ms++) {
      for (const limiter of limiters) {
        const now = clock.now()
        void Promise.resolve(limiter.take(now)).then(at => {
          if (at <= now) letIn++
        })
      }
      await clock.advance(1)
    }
    expect(letIn / 10).toBeGreaterThan(190)
    expect(letIn / 10).toBeLessThan(204)
    for (const limiter of limiters) await limiter.close()
  })

  it('E14: while the shared limit is gone, no event waits long, and the share is admitted', async () => {
    const { clock, keeper, owner } = world(4)
    keeper.is = 'silent'
    const limiter = createRateLimiter({ perSecond: 100, burst: 4, shared: keeper }, owner)
    const first = limiter.take(clock.now())
    await clock.advance(100)
    expect(await first).toBeLessThanOrEqual(clock.now())
    let letIn = 0
    for (let ms = 0; ms < 10_000; ms += 5) {
      const now = clock.now()
      if ((await limiter.take(now)) <= now) letIn++
      await clock.advance(5)
    }
    expect(letIn / 10).toBeCloseTo(25, 0)
    await limiter.close()
  })
})

describe('sharing', () => {
  it('E4: a closed shared limit ends the memberships; waiting members continue alone', async () => {
    const { clock, keeper, owner } = world(1)
    const limiter = createRetryLimiter({ perSecond: 10, shared: keeper }, owner)
    const starts = retries(limiter, clock, 30)
    await clock.advance(1_000)
    await keeper.close()
    await clock.advance(5_000)
    expect(starts).toHaveLength(30)
    await clock.advance(10_000)
    expect(clock.pending).toBe(0)
  })

  it('E4: an idle member counts: its share is known before it is needed', async () => {
    const { clock, keeper, owner, begin } = world(1)
    const idle = createRetryLimiter({ perSecond: 100, shared: keeper }, owner)
    const busy = createRetryLimiter({ perSecond: 100, shared: keeper }, owner)
    idle.join()
    busy.join()
    await clock.advance(60_000)
    keeper.is = 'gone'
    await clock.advance(10_000)
    const starts = retries(busy, clock, 1_000) as number[]
    await clock.advance(10_000)
    expect(starts.filter(at => at < begin + 80_000).length / 10).toBeCloseTo(50, 0)
    await idle.close()
    await busy.close()
  })

  it('E4: options name what is wrong with shared', () => {
    const { keeper } = world()
    expect(() => createRetryLimiter({ shared: {} as never })).toThrow(/retryLimit\.shared.*reserve\(\)/s)
    expect(() => createRetryLimiter({ batch: {}, shared: keeper })).toThrow(/retryLimit\.batch.*perSecond/s)
  })
})
