import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Fifo } from '../../../core/fifo.ts'
import { resolveRetryLimit } from '../../limiters.ts'
import { TimeHeap } from '../after/retries.ts'
import { StartWindow } from '../after/retry-window.ts'
import { Item } from '../lane/item.ts'
import type { Tracked } from '../track/tracked.ts'

const item = (at = 0) => new Item({} as Tracked, at)

describe('the queues of a lane', () => {
  it('E17: first in, first out, whatever is pushed, taken, put back and drained between', () => {
    const step = fc.oneof(
      fc.record({ push: fc.array(fc.nat(), { maxLength: 3_000 }) }),
      fc.record({ take: fc.nat({ max: 3_000 }) }),
      fc.record({ putBack: fc.array(fc.nat(), { maxLength: 5 }) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), steps => {
        const fifo = new Fifo<number>()
        let model: number[] = []
        for (const each of steps) {
          if ('push' in each) {
            for (const entry of each.push) fifo.push(entry)
            model.push(...each.push)
          } else if ('take' in each) {
            for (let n = 0; n < each.take; n++) expect(fifo.shift()).toBe(model.shift())
          } else {
            fifo.putBack(each.putBack)
            model = [...each.putBack, ...model]
          }
          expect([fifo.size, fifo.first]).toEqual([model.length, model[0]])
        }
        expect(fifo.drain()).toEqual(model)
      }),
      { numRuns: 50 },
    )
  })

  it('E5: the heap hands out what is due, the earliest first, ties in the order they came', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat({ max: 20 })),
        fc.nat({ max: 25 }),
        fc.integer({ min: -5, max: 5 }),
        (times, now, move) => {
          const heap = new TimeHeap()
          const items = times.map(at => {
            const one = item()
            heap.add(one, at)
            return { one, at: at + move }
          })
          heap.move(move)
          const sorted = items.toSorted((a, b) => a.at - b.at)
          const due = sorted.filter(({ at }) => at <= now)
          for (const { one } of due) expect(heap.takeDue(now)).toBe(one)
          expect(heap.takeDue(now)).toBeUndefined()
          expect(heap.nextAt).toBe(sorted[due.length]?.at)
          expect(heap.drain()).toEqual(sorted.slice(due.length).map(({ one }) => one))
        },
      ),
    )
  })

  it('E4: no window of time sees more starts than the limit, whatever is asked for and when', () => {
    const policies = [
      { perSecond: 5 },
      { perSecond: 0.5 },
      { perSecond: 2.5 },
      { batch: { size: 7, everyMs: 300 } },
    ]
    fc.assert(
      fc.property(
        fc.constantFrom(...policies),
        fc.array(
          fc.record({
            afterMs: fc.nat({ max: 900 }),
            wanted: fc.nat({ max: 9 }),
            tookMs: fc.nat({ max: 400 }),
            metAfterMs: fc.nat({ max: 400 }),
          }),
          { maxLength: 60 },
        ),
        (options, asks) => {
          const policy = resolveRetryLimit(options)
          const window = new StartWindow(policy)
          const windowMs =
            'batch' in options
              ? 300
              : (Math.max(1, Math.floor(options.perSecond)) * 1_000) / options.perSecond
          const starts: number[] = []
          const met: number[] = []
          let now = 1_000
          for (const { afterMs, wanted, tookMs, metAfterMs } of asks) {
            now += afterMs
            const count = Math.min(wanted, window.room(now))
            if (count > 0) window.add(count).ended(now + tookMs)
            for (let n = 0; n < count; n++) starts.push(now)
            // The receiver gets the events at some time during the write.
            for (let n = 0; n < count; n++) met.push(now + Math.min(tookMs, metAfterMs))
            if (window.room(now) === 0) expect(window.roomAt).toBeGreaterThan(now)
          }
          for (const times of [starts, met])
            for (const from of times)
              expect(times.filter(at => at >= from && at < from + windowMs).length).toBeLessThanOrEqual(
                window.most,
              )
        },
      ),
    )
  })
})
