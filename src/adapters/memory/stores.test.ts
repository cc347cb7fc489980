import { describe, expect, it } from 'vitest'
import { createFactory } from '../../testing/factories.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { memoryDeadLetters, memoryLedger, memorySink } from './index.ts'

const signal = new AbortController().signal

describe('memory ledger', () => {
  it('S8: a done pair stays done for the retention and no longer', async () => {
    const clock = new FakeClock()
    const ledger = memoryLedger({ clock, retentionMs: 1_000 })
    const claim = await ledger.claim('bill', 'charge-1', 10)
    await ledger.complete('bill', 'charge-1', claim.kind === 'claimed' ? claim.token : '')
    await clock.advance(999)
    expect((await ledger.claim('bill', 'charge-1', 10)).kind).toBe('done')
    await clock.advance(1)
    expect((await ledger.claim('bill', 'charge-1', 10)).kind).toBe('claimed')
  })

  it('S8: a wall clock that is set neither ends a lease nor makes it longer', async () => {
    const clock = new FakeClock()
    const ledger = memoryLedger({ clock })
    await ledger.claim('bill', 'charge-1', 10)
    clock.jump(600_000)
    expect(await ledger.claim('bill', 'charge-1', 10)).toEqual({ kind: 'busy', until: clock.now() + 10 })
    clock.jump(-1_200_000)
    await clock.advance(10)
    expect((await ledger.claim('bill', 'charge-1', 10)).kind).toBe('claimed')
  })

  it('S8: the end of a lease is never told too early, whatever fraction of a millisecond has passed', async () => {
    let time = 10.2
    const clock = { now: () => Math.floor(time), monotonic: () => time, schedule: () => () => {} }
    const ledger = memoryLedger({ clock })
    await ledger.claim('bill', 'charge-1', 1_000)
    time = 10.9
    expect(await ledger.claim('bill', 'charge-1', 1_000)).toEqual({ kind: 'busy', until: 1_010 })
    time = 11.1
    expect(await ledger.claim('bill', 'charge-1', 1_000)).toEqual({ kind: 'busy', until: 1_011 })
  })

  it('S8: a slow handler may complete when nobody else has claimed meanwhile', async () => {
    const clock = new FakeClock()
    const ledger = memoryLedger({ clock })
    const claim = await ledger.claim('bill', 'charge-1', 10)
    await clock.advance(20)
    expect(await ledger.complete('bill', 'charge-1', claim.kind === 'claimed' ? claim.token : '')).toBe(true)
  })

  it('S8: a lease does not seem to end early when the process is stopped between reading its two clocks', async () => {
    let time = 1_000
    const clock = {
      now: () => Math.floor(time),
      monotonic: () => (time += 1.5),
      schedule: () => () => {},
    }
    const ledger = memoryLedger({ clock })
    await ledger.claim('bill', 'charge-1', 60_000)
    const claimedAt = clock.now()
    const claim = await ledger.claim('bill', 'charge-1', 60_000)
    expect(claim.kind === 'busy' && claim.until).toBeGreaterThanOrEqual(claimedAt + 60_000)
  })

  it('E21: its memory is bounded: old records go, completed or abandoned', async () => {
    const clock = new FakeClock()
    const ledger = memoryLedger({ clock, retentionMs: 1_000 })
    for (let index = 0; index < 20_000; index++) {
      const claim = await ledger.claim('bill', `charge-${index}`, 10)
      if (claim.kind === 'claimed' && index % 2 === 0) {
        await ledger.complete('bill', `charge-${index}`, claim.token)
      }
      if (index % 100 === 0) await clock.advance(100)
    }
    expect(ledger.size).toBeLessThan(4_000)
  })
})

describe('memory sink', () => {
  it('E17: remembers batches as they were, and counts', async () => {
    const make = createFactory()
    const sink = memorySink()
    const batch = make.events(2)
    await sink.write(batch, { signal })
    await sink.write(make.events(1), { signal })
    expect(sink.batches.map(each => each.length)).toEqual([2, 1])
    batch.length = 0
    expect([sink.count, sink.events.length]).toEqual([3, 3])
    sink.clear()
    expect([sink.count, sink.events.length]).toEqual([0, 0])
  })

  it('E21: forgets the oldest batches beyond its limit, never the latest', async () => {
    const make = createFactory()
    const sink = memorySink({ maxEvents: 10 })
    for (let index = 0; index < 50; index++) {
      await sink.write(make.events(3), { signal })
      expect(sink.events.length).toBeLessThanOrEqual(10)
    }
    const large = make.events(20)
    await sink.write(large, { signal })
    expect(sink.events).toEqual(large)
    expect(sink.count).toBe(170)
  })
})

describe('memory dead letters', () => {
  it('E9: a mistyped filter is refused, and so is a cursor of another filter', async () => {
    const make = createFactory()
    const store = memoryDeadLetters()
    for (let index = 0; index < 3; index++) await store.send(make.letter())
    await expect(store.list({ chanel: 'orders' } as never)).rejects.toThrow("did you mean 'channel'?")
    await expect(store.stats({ state: 'gone' } as never)).rejects.toThrow('filter.state')
    const { cursor } = await store.list({ limit: 2, handler: 'bill' })
    await expect(store.list({ limit: 2, cursor })).rejects.toThrow('query.cursor')
    await expect(store.list({ cursor: 'nonsense' })).rejects.toThrow('query.cursor')
    expect((await store.list({ limit: 1, handler: 'bill', cursor })).letters).toHaveLength(1)
  })

  it('E9: a channel may be named like a property that every object has', async () => {
    const store = memoryDeadLetters()
    const make = createFactory()
    await store.send(make.letter({ channel: 'constructor' }))
    await store.send(make.letter({ channel: 'constructor' }))
    expect((await store.stats()).byChannel).toEqual({ constructor: 2 })
  })
})
