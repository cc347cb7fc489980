import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  compareLetters,
  type LetterOrder,
  type LetterPosition,
} from '../../../adapter-kit/query/letter-order.ts'
import { LETTER_STATES } from '../../../core/dead-letter/state.ts'
import { LETTER_SORTS } from '../../../ports/dead-letters.ts'
import { readIndex, writeIndex } from '../journal/index-files.ts'
import { LineIndex } from '../journal/line-index.ts'
import type { Put, SegmentRows } from '../journal/segment-rows.ts'
import type { Segment } from '../journal/segment-set.ts'
import type { Kind, LetterIndex } from './record.ts'
import { inOrder, matching } from './selection.ts'

const LINE_BYTES = 10
const ROWS_PER_SEGMENT = 7
const someIds = ['00000000-0000-8000-8000-000000000000', 'FFFF', 'no uuid at all', '__proto__', 'žluťoučký']
const id = fc.oneof(fc.uuid(), fc.constantFrom(...someIds))
const name = fc.constantFrom('a', 'b', '', 'a b', '__proto__')
const facts: fc.Arbitrary<Put<Kind>> = fc.record({
  id,
  kind: fc.record({
    channel: name,
    handler: name,
    type: name,
    reason: name,
    category: name,
    group: name,
    state: fc.constantFrom(...LETTER_STATES),
    attempts: fc.nat(3),
    neverExpires: fc.boolean(),
    isReplayed: fc.boolean(),
  }),
  firstFailedAt: fc.nat(5),
  lastFailedAt: fc.nat(5),
  updatedAt: fc.nat(),
  expiresAt: fc.oneof(fc.nat(), fc.constant(Number.POSITIVE_INFINITY)),
})
const step = fc.oneof(
  { weight: 3, arbitrary: facts.map(put => ({ put })) },
  { weight: 1, arbitrary: fc.nat().map(deleted => ({ deleted })) },
)
const orders: fc.Arbitrary<LetterOrder> = fc.record({
  sort: fc.constantFrom(...LETTER_SORTS),
  isDescending: fc.boolean(),
})

function placeOf(
  { id, lastFailedAt, firstFailedAt, kind }: Put<Kind>,
  { sort }: LetterOrder,
): LetterPosition {
  if (sort === 'lastFailed') return { id, lastFailedAt }
  return { id, lastFailedAt, value: sort === 'firstFailed' ? firstFailedAt : kind[sort] }
}

type Step = { readonly put: Put<Kind> } | { readonly deleted: number }

function emptyIndex(indexFiles?: unknown): LetterIndex {
  const readPut = () => {
    throw new Error('no record is read')
  }
  return new LineIndex<Kind>({ readPut, onClosed: () => {}, indexFiles: indexFiles as never })
}

/** The index after some steps, and the letters that it must know of. */
function run(steps: readonly Step[]) {
  const index = emptyIndex()
  const model = new Map<string, Put<Kind>>()
  for (const [at, each] of steps.entries()) {
    const segment = 1 + Math.floor(at / ROWS_PER_SEGMENT)
    if ('put' in each) {
      index.put(each.put, { segment, offset: at * LINE_BYTES, length: LINE_BYTES - 1 })
      model.set(each.put.id, each.put)
    } else if (model.size > 0) {
      const deleted = [...model.keys()][each.deleted % model.size]!
      index.delete([deleted], { segment })
      model.delete(deleted)
    }
  }
  return { index, model }
}

function putAt(rows: SegmentRows<Kind>, row: number): Put<Kind> {
  return { id: rows.idOf(row), ...rows.factsOf(row) }
}

async function known(index: LetterIndex, filter = {}): Promise<Put<Kind>[]> {
  const found: Put<Kind>[] = []
  for await (const { rows, found: here } of matching(index, filter))
    found.push(...here.map(row => putAt(rows, row)))
  return found.sort(compareLetters)
}

const newestFirst = (model: ReadonlyMap<string, Put<Kind>>) => [...model.values()].sort(compareLetters)

describe('the index of letters', () => {
  it('E10: knows every letter as it was last written', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 100 }), async steps => {
        const { index, model } = run(steps)
        expect(await known(index)).toEqual(newestFirst(model))
        expect(index.count).toBe(model.size)
        for (const { id, lastFailedAt } of model.values()) {
          const { rows, row } = index.find(id)!
          expect(putAt(rows, row)).toMatchObject({ id, lastFailedAt })
        }
        expect(index.find('never seen')).toBeUndefined()
      }),
    )
  })

  it('E9: lists them in every order, in portions of any size, behind any place, by a filter', async () => {
    const filters = fc.constantFrom({}, { channel: 'a' }, { state: 'dead' as const }, { after: 2, before: 4 })
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 60 }),
        fc.option(facts, { nil: undefined }),
        fc.integer({ min: 1, max: 9 }),
        filters,
        orders,
        async (steps, start, portion, filter, order) => {
          const { index } = run(steps)
          const behind = start && placeOf(start, order)
          const expected = (await known(index, filter))
            .map(put => placeOf(put, order))
            .filter(place => behind === undefined || compareLetters(place, behind, order) > 0)
            .sort((a, b) => compareLetters(a, b, order))
            .map(({ id }) => id)
          const listed: string[] = []
          for await (const found of inOrder(index, filter, order, behind, portion)) {
            expect(found.length).toBeLessThanOrEqual(portion)
            listed.push(...found.map(place => place.id))
          }
          expect(listed).toEqual(expected)
        },
      ),
    )
  })

  it('E10: is the same when it is read from the index files', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.nat(), async (steps, bytes) => {
        const { index, model } = run(steps)
        const written = new Map(index.segments.map(rows => [rows.segment, writeIndex(rows, bytes)]))
        const again = emptyIndex({
          read: async ({ name }: Segment, size: number) =>
            readIndex(written.get(name.number)!, name.number, size),
        })
        for (const segment of written.keys()) {
          const recalled = { name: { number: segment, revision: 0, day: '' } } as Segment
          expect(await again.restore(recalled, bytes + 1)).toBe(false)
          expect(await again.restore(recalled, bytes)).toBe(true)
        }
        expect(await known(again)).toEqual(newestFirst(model))
        for (const { segment } of index.segments) {
          expect(again.liveBytes(segment)).toBe(index.liveBytes(segment))
          expect(again.hasDead(segment)).toBe(index.hasDead(segment))
        }
      }),
    )
  })

  it('E10: an index file is not used with any bit of it flipped, nor cut', () => {
    const puts = fc.array(
      facts.map(put => ({ put })),
      { minLength: 1, maxLength: ROWS_PER_SEGMENT },
    )
    fc.assert(
      fc.property(puts, fc.nat(), fc.nat(7), (steps, where, bit) => {
        const [rows] = run(steps).index.segments
        const written = writeIndex(rows!, 1)
        const at = where % written.length
        expect(readIndex(Buffer.from(written.subarray(0, at)), 1, 1)).toBeUndefined()
        written[at]! ^= 1 << bit
        expect(readIndex(written, 1, 1)).toBeUndefined()
      }),
    )
  })

  it('E10: counts what still counts of every segment', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), steps => {
        const { index, model } = run(steps)
        const segments = index.segments.map(({ segment }) => segment)
        const bytes = segments.reduce((sum, segment) => sum + index.liveBytes(segment), 0)
        expect(bytes).toBe(model.size * LINE_BYTES)
        const puts = steps.filter(each => 'put' in each).length
        expect(segments.some(segment => index.hasDead(segment))).toBe(puts > model.size)
      }),
    )
  })

  it('E10: knows the same when a segment was rewritten, and keeps nothing of what is gone', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async steps => {
        const { index, model } = run(steps)
        for (const { segment } of index.segments) {
          const live = [...index.liveOffsets(segment)].sort((a, b) => a - b)
          index.move(segment, new Map(live.map((offset, at) => [offset, at * LINE_BYTES])))
          expect(index.hasDead(segment)).toBe(false)
          expect([...index.liveOffsets(segment)]).toEqual(live.map((_, at) => at * LINE_BYTES))
        }
        expect(await known(index)).toEqual(newestFirst(model))
        expect(index.segments.reduce((sum, { count }) => sum + count, 0)).toBe(model.size)
      }),
    )
  })

  it('E10: finds every letter of a full segment after it was rewritten without half of them', () => {
    const [some] = fc.sample(facts, { numRuns: 1, seed: 1 })
    const ids = Array.from({ length: 600 }, (_, at) => `letter ${at}`)
    const index = emptyIndex()
    for (const [at, id] of ids.entries())
      index.put({ ...some!, id }, { segment: 1, offset: at * LINE_BYTES, length: LINE_BYTES - 1 })
    const [kept, gone] = [ids.filter((_, at) => at % 2 === 1), ids.filter((_, at) => at % 2 === 0)]
    index.delete(gone, { segment: 2 })
    const offsets = [...index.liveOffsets(1)]
    index.move(1, new Map(offsets.map((offset, at) => [offset, at * LINE_BYTES])))
    expect(kept.map(id => index.locationOf(id)?.offset)).toEqual(kept.map((_, at) => at * LINE_BYTES))
    expect(gone.filter(id => index.find(id) !== undefined)).toEqual([])
    expect(index.count).toBe(300)
  })
})
