import { describe, expect, it } from 'vitest'
import { refused, consumerWorld as world } from '../../test/support/consumer-world.ts'
import { memoryDeadLetters, memorySpill } from '../adapters/memory/index.ts'
import type { FilterSubject } from '../core/dead-letter/filter.ts'
import { replayHeaders } from '../core/event/replay-headers.ts'
import { PermanentError } from '../core/failure/signals.ts'
import { fixed } from '../core/retry/fixed.ts'
import { healthReport } from './consumer/health.ts'
import { createDispatcher } from './dispatcher/dispatcher.ts'

const failing = {
  retry: { attempts: 1 },
  handle: async () => {
    throw refused()
  },
}

describe('letters are safe before an event is acknowledged', () => {
  it('B7: a store that is down: the letter is spilled, the event acknowledged, and the letter moved on later', async () => {
    const deadLetters = memoryDeadLetters()
    const send = deadLetters.send.bind(deadLetters)
    let down = true
    deadLetters.send = letter => (down ? Promise.reject(new Error('store is down')) : send(letter))
    const spill = memorySpill()
    const it = world({ ...failing, deadLetters, spill })
    await it.consumer.start()
    await it.publish('x')
    await it.clock.advance(0)
    expect(await spill.size()).toBe(1)
    expect(it.recorder.of('eventProcessed')).toMatchObject([{ outcome: 'dead' }])
    down = false
    await it.clock.advance(10_000)
    expect(await spill.size()).toBe(0)
    expect((await deadLetters.list()).letters).toMatchObject([{ event: { payload: 'x' } }])
    expect(it.recorder.of('spillDrained')).toEqual([{ count: 1 }])
    await it.consumer.close()
  })

  it('B7: a letter that the breaker keeps from the store tells the last error of the store', async () => {
    const deadLetters = memoryDeadLetters()
    deadLetters.send = () => Promise.reject(new Error('store is down'))
    const it = world({ ...failing, deadLetters, spill: memorySpill() })
    await it.consumer.start()
    await it.publish('a')
    await it.clock.advance(0)
    await it.publish('b')
    await it.clock.advance(0)
    expect(it.recorder.of('letterWriteFailed')).toMatchObject([
      { error: { message: 'store is down' } },
      { error: { code: 'LAZARET_BREAKER_OPEN', cause: { message: 'store is down' } } },
    ])
    await it.consumer.close()
  })

  it('B7: a store that hangs is given up on in time', async () => {
    const deadLetters = memoryDeadLetters()
    deadLetters.send = () => new Promise(() => {})
    const spill = memorySpill()
    const it = world({ ...failing, deadLetters, spill })
    await it.consumer.start()
    await it.publish('x')
    await it.clock.advance(6_000)
    expect(await spill.size()).toBe(1)
  })

  it('B7: close asks a store that hangs for one spilled letter only', async () => {
    const deadLetters = memoryDeadLetters()
    deadLetters.send = () => Promise.reject(new Error('store is down'))
    const spill = memorySpill()
    const it = world({ ...failing, deadLetters, spill })
    await it.consumer.start()
    await it.publish('a', 'b', 'c')
    await it.clock.advance(0)
    let asked = 0
    deadLetters.send = () => {
      asked++
      return new Promise(() => {})
    }
    const closed = it.consumer.close()
    await it.clock.advance(30_000)
    await closed
    expect(asked).toBe(1)
    expect(await spill.size()).toBe(3)
  })

  it('B7: a letter that the store always refuses stays in the spill, visibly, and blocks no other', async () => {
    const deadLetters = memoryDeadLetters()
    const send = deadLetters.send.bind(deadLetters)
    let down = true
    deadLetters.send = async letter => {
      if (down) throw new Error('store is down')
      if (letter.event.payload === 'a') throw new Error('sealed with a missing key')
      await send(letter)
    }
    const spill = memorySpill()
    const it = world({ ...failing, deadLetters, spill })
    await it.consumer.start()
    expect(it.consumer.health().spill).toBeUndefined()
    await it.publish('a', 'b', 'c')
    await it.clock.advance(0)
    expect(it.consumer.health().spill).toEqual({ size: 3 })
    await it.clock.advance(5_000)
    expect(it.consumer.health().spill).toEqual({ size: 3, problem: 'store is down' })
    expect(it.recorder.of('spillDrainFailed')).toMatchObject([
      { left: 3, error: { message: 'store is down' } },
    ])
    down = false
    await it.clock.advance(5_000)
    expect((await deadLetters.list()).letters.map(({ event }) => event.payload).sort()).toEqual(['b', 'c'])
    expect(it.recorder.of('spillDrained')).toEqual([{ count: 2, left: 1 }])
    const problem = 'sealed with a missing key'
    expect(it.recorder.of('spillDrainFailed').at(-1)).toMatchObject({ left: 1, error: { message: problem } })
    expect(it.recorder.of('letterWriteFailed').at(-1)).toMatchObject({
      channel: 'orders',
      error: { message: problem },
    })
    const health = it.consumer.health()
    expect(health.spill).toEqual({ size: 1, problem })
    expect(healthReport([health], 0).status).toBe('DEGRADED')
    deadLetters.send = send
    await it.clock.advance(5_000)
    expect(it.consumer.health().spill).toBeUndefined()
    await it.consumer.close()
  })

  it('B7: a spill that cannot be read is visible', async () => {
    const spill = memorySpill()
    spill.size = async () => 20
    spill.drain = () => Promise.reject(new Error('the key is missing'))
    const it = world({ ...failing, deadLetters: memoryDeadLetters(), spill })
    await it.consumer.start()
    await it.clock.advance(0)
    expect(it.consumer.health().spill).toEqual({ size: 20, problem: 'the key is missing' })
    expect(it.recorder.of('spillDrainFailed')).toMatchObject([
      { left: 20, error: { message: 'the key is missing' } },
    ])
    await it.consumer.close()
  })

  it('B7: with store and spill down the consumer pauses, and goes on when one is back', async () => {
    const deadLetters = memoryDeadLetters()
    const send = deadLetters.send.bind(deadLetters)
    let down = true
    deadLetters.send = letter => (down ? Promise.reject(new Error('store is down')) : send(letter))
    const spill = memorySpill()
    spill.send = () => Promise.reject(new Error('no space left on device'))
    const it = world({ ...failing, deadLetters, spill, concurrency: 1 })
    await it.consumer.start()
    await it.publish('a', 'b', 'c')
    await it.clock.advance(60_000)
    expect(it.recorder.count('attemptFailed')).toBe(1)
    expect(it.recorder.count('eventProcessed')).toBe(0)
    down = false
    await it.clock.advance(60_000)
    expect((await deadLetters.list()).letters).toHaveLength(3)
    expect(it.consumer.health().paused).toEqual([])
    await it.consumer.close()
  })

  it('E12: a letter that the filter does not keep is counted, not kept', async () => {
    const it = world({ ...failing, filter: { never: ['order.*'] } })
    await it.consumer.start()
    await it.publish('x')
    await it.clock.advance(0)
    expect(await it.letters()).toEqual([])
    expect(it.recorder.of('letterFiltered')).toMatchObject([{ reason: 'attempts_exhausted' }])
    await it.consumer.close()
  })
})

describe('a spill and its store', () => {
  const refusal = /spill: got a spill that .* uses with another deadLetters; give each store its own spill/

  it('B7: a spill that is in use for one store is refused for another', async () => {
    const [spill, deadLetters] = [memorySpill(), memoryDeadLetters()]
    const first = world({ ...failing, deadLetters, spill, leaveOpen: true })
    expect(() => world({ ...failing, deadLetters: memoryDeadLetters(), spill })).toThrow(refusal)
    const sinks = { shop: { write: async () => undefined } }
    expect(() => createDispatcher({ sinks, deadLetters: memoryDeadLetters(), spill })).toThrow(refusal)
    const second = world({ ...failing, deadLetters, spill, leaveOpen: true })
    await first.consumer.close()
    expect(() => world({ ...failing, deadLetters: memoryDeadLetters(), spill })).toThrow(refusal)
    await second.consumer.close()
    // Nobody uses it any more: its store may have been opened again.
    await world({ ...failing, deadLetters: memoryDeadLetters(), spill }).consumer.close()
  })
})

describe('the save filter', () => {
  it('E12: is asked once for an event, however often its letter has to be saved again', async () => {
    const deadLetters = memoryDeadLetters()
    const send = deadLetters.send.bind(deadLetters)
    let down = true
    deadLetters.send = letter => (down ? Promise.reject(new Error('store is down')) : send(letter))
    const asked: string[] = []
    const saveIf = ({ event }: FilterSubject) => {
      asked.push(event.id)
      return true
    }
    const it = world({ ...failing, deadLetters, filter: { saveIf } })
    await it.consumer.start()
    await it.publish({ id: 'a', payload: 'a' })
    await it.clock.advance(30_000)
    expect(it.recorder.count('letterWriteFailed')).toBeGreaterThan(3)
    down = false
    await it.clock.advance(60_000)
    expect((await deadLetters.list()).letters).toHaveLength(1)
    expect(asked).toEqual(['a'])
    await it.consumer.close()
  })

  it('R9: sees the reason, and for a limit which one', async () => {
    const seen: unknown[] = []
    const saveIf = ({ event, reason, limit }: FilterSubject) => {
      seen.push([event.id, reason, limit])
      return limit === 'retryLimit'
    }
    const retry = { attempts: 3, backoff: fixed({ delayMs: 100, jitter: 'none' as const }) }
    const it = world({
      retry,
      retryLimit: { perSecond: 0.001, onLimit: 'dead-letter' },
      filter: { saveIf },
      handle: async ({ id }) => {
        throw id === 'wrong' ? new PermanentError('no') : refused()
      },
    })
    await it.consumer.start()
    await it.publish({ id: 'wrong' }, { id: 'first' }, { id: 'second' })
    await it.clock.advance(1_000)
    expect(seen).toEqual([
      ['wrong', 'permanent', undefined],
      ['second', 'retry_limited', 'retryLimit'],
      ['first', 'retry_limited', 'retryLimit'],
    ])
    expect((await it.letters()).map(({ event }) => event.id).sort()).toEqual(['first', 'second'])
    await it.consumer.close()
  })

  it('R9: names the retry budget', async () => {
    const seen: unknown[] = []
    const saveIf = ({ reason, limit }: FilterSubject) => seen.push([reason, limit]) > 0
    const it = world({
      retry: { attempts: 3, backoff: fixed({ delayMs: 100, jitter: 'none' }) },
      budget: { ratio: 0, floorPerSecond: 0 },
      filter: { saveIf },
      handle: failing.handle,
    })
    await it.consumer.start()
    await it.publish('x')
    await it.clock.advance(1_000)
    expect(seen).toEqual([['retry_budget', 'budget']])
    await it.consumer.close()
  })
})

describe('a replayed event comes back to its letter', () => {
  const replayed = (id: string) =>
    replayHeaders({ id, idempotencyKey: id, headers: {} }, { replayId: 'r1', attempt: 1 })

  it('B12: a replay that succeeds resolves the letter; one that fails is its next cycle', async () => {
    let healthy = false
    const it = world({
      retry: { attempts: 1 },
      handle: async () => {
        if (!healthy) throw refused()
      },
    })
    await it.consumer.start()
    await it.publish({ id: 'a', payload: 'a' }, { id: 'b', payload: 'b' })
    await it.clock.advance(0)
    for (const { id } of await it.letters())
      await it.deadLetters.change(id, { to: 'replaying', at: it.clock.now(), replayId: 'r1' })
    await it.publish({ id: 'a', payload: 'a', headers: replayed('a') })
    await it.clock.advance(1_000)
    healthy = true
    await it.publish({ id: 'b', payload: 'b', headers: replayed('b') })
    await it.clock.advance(1_000)
    const letters = await it.letters()
    expect(letters).toHaveLength(2)
    expect(letters.find(({ event }) => event.id === 'a')).toMatchObject({
      state: 'dead',
      cycle: { number: 1, replayId: 'r1' },
      endedCycles: [{ number: 0 }],
    })
    expect(letters.find(({ event }) => event.id === 'b')).toMatchObject({
      state: 'resolved',
      cycle: { number: 0 },
    })
    expect(it.recorder.of('replayOutcome').map(({ outcome }) => outcome)).toEqual([
      'failed_again',
      'recovered',
    ])
    await it.consumer.close()
  })
})
