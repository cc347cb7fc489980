import fc from 'fast-check'
import { expect, it } from 'vitest'
import { OffsetWindow } from './offset-window.ts'
import { decodeProgress, encodeProgress, type Progress, progressAt } from './progress.ts'

const TOPIC = 'a1b2c3d4-0000-0000-0000-000000000000'
const runs = { seed: 22, numRuns: 300 }

const progresses: fc.Arbitrary<Progress> = fc
  .record({
    position: fc.nat({ max: 2 ** 40 }),
    gaps: fc.array(fc.tuple(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 50 })), {
      maxLength: 60,
    }),
    ahead: fc.nat({ max: 3_000 }),
    suspects: fc.nat({ max: 3_000 }),
    crashes: fc.array(fc.tuple(fc.nat({ max: 500 }), fc.integer({ min: 1, max: 9 })), { maxLength: 20 }),
    running: fc.option(fc.nat({ max: 500 }), { nil: undefined }),
  })
  .map(({ position, gaps, ahead, suspects, crashes, running }) => {
    let last = position
    const settled = gaps.map(([gap, length]) => {
      const from = last + gap
      last = from + length
      return [from, last] as const
    })
    return {
      position,
      settled,
      upTo: position + ahead,
      suspectsBelow: position + suspects,
      crashes: new Map(crashes.map(([offset, count]) => [position + offset, count])),
      running: running === undefined ? undefined : position + running,
    }
  })

it('B8: what a commit says is read back as it was', () => {
  fc.assert(
    fc.property(progresses, progress => {
      const text = encodeProgress(progress, TOPIC)
      expect(decodeProgress(progress.position, text, TOPIC)).toEqual(progress)
    }),
    runs,
  )
})

it('B8: the metadata of a commit fits into the limit of Kafka, and counts win over settled ranges', () => {
  const settled = Array.from({ length: 5_000 }, (_, index) => [10 + 2 * index, 11 + 2 * index] as const)
  const crashes = new Map(Array.from({ length: 50 }, (_, index) => [index, 2]))
  const text = encodeProgress({ ...progressAt(1), settled, crashes, upTo: 20_000 }, TOPIC)
  expect(text.length).toBeLessThan(4_096)
  const read = decodeProgress(1, text, TOPIC)!
  expect([read.upTo, read.crashes.size]).toEqual([20_000, 50])
  expect(read.settled).toEqual(settled.slice(0, read.settled.length))
  expect(read.settled.length).toBeGreaterThan(500)
})

it('F5: the commit of a topic that was created again means nothing in the new one', () => {
  const text = encodeProgress(progressAt(20), TOPIC)
  expect(decodeProgress(20, text, 'ffffffff-0000-0000-0000-000000000000')).toBeUndefined()
})

it('E21: metadata of other programs is ignored, and their offset counts', () => {
  for (const text of ['', null, 'consumer-1', '0;x'])
    expect(decodeProgress(7, text, TOPIC)).toEqual(progressAt(7))
})

/** Records are read, settled in any order, and the consumer dies between two commits, again and again. */
it('E21, B8: whatever the order of settling, no unsettled record is passed over, and what was open is suspected', () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('read' as const), skip: fc.nat({ max: 2 }) }),
      fc.record({ kind: fc.constant('settle' as const), pick: fc.nat() }),
      fc.record({ kind: fc.constant('commit' as const), ahead: fc.nat({ max: 10 }) }),
      fc.record({ kind: fc.constant('crash' as const) }),
    ),
    { maxLength: 120 },
  )
  fc.assert(
    fc.property(steps, all => {
      const topic: number[] = []
      const settled = new Set<number>()
      let durable = encodeProgress(progressAt(0), TOPIC)
      let position = 0
      let upTo = 0
      let window = new OffsetWindow(progressAt(0))
      let open: number[] = []
      let next = 0
      for (const step of all) {
        if (step.kind === 'read') {
          const offset = topic.find(each => each >= window.readTo)
          if (offset === undefined) {
            next += step.skip
            topic.push(next++)
            continue
          }
          const isNew = window.read(offset)
          // A record that was settled and committed is not delivered again.
          if (!isNew) expect(settled.has(offset)).toBe(true)
          else open.push(offset)
        } else if (step.kind === 'settle' && open.length > 0) {
          const [offset] = open.splice(step.pick % open.length, 1) as [number]
          window.settle(offset)
          settled.add(offset)
        } else if (step.kind === 'commit') {
          const progress = window.progress(window.readTo + step.ahead, undefined)
          for (const each of topic)
            if (each < progress.position) expect(settled.has(each), `${each} is lost`).toBe(true)
          for (const [from, to] of progress.settled)
            for (const each of topic)
              if (each >= from && each < to && each < window.readTo)
                expect(settled.has(each), `${each} is lost`).toBe(true)
          durable = encodeProgress(progress, TOPIC)
          ;({ position, upTo } = progress)
        } else if (step.kind === 'crash') {
          const lost = open
          window = new OffsetWindow(decodeProgress(position, durable, TOPIC)!)
          for (const offset of lost) if (offset < upTo) expect(window.isSuspect(offset)).toBe(true)
          open = []
        }
      }
      // The last owner reads everything: each record is settled, or delivered.
      const last = new OffsetWindow(decodeProgress(position, durable, TOPIC)!)
      const delivered = topic.filter(each => each >= position && last.read(each))
      for (const each of topic) if (!settled.has(each)) expect(delivered, `${each} is lost`).toContain(each)
    }),
    runs,
  )
})

it('B8: a suspect that ran alone when its consumer died is to blame, also for what made it a suspect', () => {
  const first = new OffsetWindow({ ...progressAt(5), upTo: 9, running: 6 })
  expect([5, 6, 7, 8, 9].map(offset => first.isSuspect(offset))).toEqual([true, true, true, true, false])
  expect([5, 6].map(offset => first.crashesOf(offset))).toEqual([0, 2])
  for (const offset of [5, 6, 7, 8]) first.read(offset)
  first.settle(5)
  const second = new OffsetWindow({ ...first.progress(9, 6) })
  expect([second.readTo, second.crashesOf(6)]).toEqual([6, 3])
  second.read(6)
  second.settle(6)
  expect(second.progress(7, undefined).crashes.size).toBe(0)
})

it('B8: what came to the topic after the crash is not suspected', () => {
  const window = new OffsetWindow({ ...progressAt(5), upTo: 30 })
  window.limitSuspects(7)
  expect([6, 7].map(offset => window.isSuspect(offset))).toEqual([true, false])
})
