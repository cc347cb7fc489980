import { describe, expect, it } from 'vitest'
import { memorySink } from '../adapters/memory/sink.ts'
import { noopDeadLetters, recordingDeadLetters } from './dead-letters.ts'
import { createFactory } from './factories.ts'
import { FakeClock } from './fake-clock.ts'
import { flakySink, hangingSink } from './sinks.ts'

const signal = new AbortController().signal

describe('dead-letter queues for tests', () => {
  it('P1: the no-op queue accepts every letter', async () => {
    const queue = noopDeadLetters()
    await queue.send(createFactory().letter())
    await queue.close()
    await queue.close()
  })

  it('P1: the recording queue has all letters, their count and the last one, and can be cleared', async () => {
    const make = createFactory()
    const queue = recordingDeadLetters()
    expect([queue.all, queue.count, queue.last]).toEqual([[], 0, undefined])
    const letters = [make.letter(), make.letter()]
    for (const letter of letters) await queue.send(letter)
    expect([queue.all, queue.count, queue.last]).toEqual([letters, 2, letters[1]])
    queue.clear()
    expect([queue.all, queue.count, queue.last]).toEqual([[], 0, undefined])
  })

  it('P1: the recording queue rejects letters after close', async () => {
    const queue = recordingDeadLetters()
    await queue.close()
    expect(queue.isClosed).toBe(true)
    await expect(queue.send(createFactory().letter())).rejects.toMatchObject({
      code: 'LAZARET_DEAD_LETTERS_CLOSED',
    })
  })
})

describe('sinks for tests', () => {
  it('E17: a flaky sink fails the chosen writes and writes nothing then', async () => {
    const inner = memorySink()
    const sink = flakySink(inner, write => (write === 1 ? new Error('sick') : undefined))
    await expect(sink.probe?.({ signal })).rejects.toThrow('sick')
    await expect(sink.write(createFactory().events(2), { signal })).rejects.toThrow('sick')
    expect(inner.count).toBe(0)
    await sink.write(createFactory().events(2), { signal })
    await sink.probe?.({ signal })
    expect([inner.count, sink.writes]).toEqual([2, 2])
  })

  it('E17: a hanging sink ends only by its signal, and without abortable not at all', async () => {
    const controller = new AbortController()
    const [polite, deaf] = [hangingSink(), hangingSink({ abortable: false })]
    const writes = [polite, deaf].map(sink => sink.write([], { signal: controller.signal }))
    controller.abort(new Error('time is over'))
    await expect(writes[0]).rejects.toThrow('time is over')
    expect([polite.open, deaf.open]).toEqual([0, 1])
    await expect(polite.probe?.({ signal: controller.signal })).rejects.toThrow('time is over')
  })
})

describe('factory', () => {
  it('makes the same events on every run, each with its own id', () => {
    const ids = createFactory()
      .events(3)
      .map(event => event.id)
    expect(new Set(ids).size).toBe(3)
    expect(
      createFactory()
        .events(3)
        .map(event => event.id),
    ).toEqual(ids)
  })

  it('P2: makes letters with defaults for all fields that a test does not set', () => {
    const letter = createFactory().letter({ channel: 'mails', error: new TypeError('no address') })
    expect(letter).toMatchObject({
      channel: 'mails',
      event: { channel: 'mails' },
      cycle: { failure: { name: 'TypeError' } },
    })
  })
})

describe('fake clock', () => {
  it('runs due tasks in order of time and then of scheduling, with promises in between', async () => {
    const clock = new FakeClock()
    const ran: string[] = []
    const at = (ms: number, name: string) =>
      clock.schedule(ms, () => {
        ran.push(name)
        void Promise.resolve().then(() => ran.push(`after ${name}`))
      })
    at(20, 'c')
    at(10, 'a')
    at(10, 'b')
    await clock.advance(20)
    expect(ran).toEqual(['a', 'after a', 'b', 'after b', 'c', 'after c'])
  })

  it('allows to cancel a task twice and too late', async () => {
    const clock = new FakeClock()
    const ran: number[] = []
    const first = clock.schedule(1, () => ran.push(1))
    const second = clock.schedule(1, () => ran.push(2))
    first()
    first()
    expect(clock.pending).toBe(1)
    await clock.advance(5)
    second()
    expect([ran, clock.pending]).toEqual([[2], 0])
    expect(await clock.step()).toBe(false)
  })

  it('steps from task to task and shows the time of each', async () => {
    const clock = new FakeClock(0)
    const times: number[] = []
    for (const ms of [30, 10, 20]) clock.schedule(ms, () => times.push(clock.now()))
    while (await clock.step());
    expect(times).toEqual([10, 20, 30])
  })

  it('sets the wall clock without passing time', async () => {
    const clock = new FakeClock(1_000)
    let ran = false
    clock.schedule(50, () => {
      ran = true
    })
    clock.jump(500)
    await clock.advance(49)
    expect([clock.now(), ran]).toEqual([1_549, false])
    await clock.advance(1)
    expect(ran).toBe(true)
  })

  it('handles a hundred thousand timers', async () => {
    const clock = new FakeClock()
    let ran = 0
    for (let index = 0; index < 100_000; index++) {
      const cancel = clock.schedule(1 + (index % 1_000), () => {
        ran++
      })
      if (index % 100 !== 0) cancel()
    }
    await clock.advance(1_000)
    expect([ran, clock.pending]).toEqual([1_000, 0])
  })
})
