import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LETTER_STATES } from '../../../core/dead-letter/state.ts'
import { comparePlaces } from '../../../ports/letter-query.ts'
import { readIndex, writeIndex } from './index-file.ts'
import { LetterIndex } from './letter-index.ts'
import { DELETED, Sheet } from './sheet.ts'
import type { Summary } from './summary.ts'
import { readUuid, writeUuid } from './uuid-words.ts'

const someIds = [
  '00000000-0000-8000-8000-000000000000',
  'ffffffff-ffff-8fff-bfff-ffffffffffff',
  'FFFFFFFF-FFFF-8FFF-BFFF-FFFFFFFFFFFF',
  'no uuid at all',
  'žluťoučký',
]
const id = fc.oneof(fc.uuid(), fc.constantFrom(...someIds))
const name = fc.constantFrom('a', 'b', '', 'a b', '__proto__')
const summary: fc.Arbitrary<Summary> = fc.record({
  id,
  channel: name,
  handler: name,
  type: name,
  reason: name,
  category: name,
  group: name,
  state: fc.constantFrom(...LETTER_STATES),
  firstFailedAt: fc.nat(5),
  lastFailedAt: fc.nat(5),
  updatedAt: fc.nat(),
  expiresAt: fc.option(fc.nat(), { nil: undefined }),
  isReplayed: fc.boolean(),
})
const step = fc.oneof(
  { weight: 3, arbitrary: summary.map(put => ({ put })) },
  { weight: 1, arbitrary: fc.nat().map(deleted => ({ deleted })) },
)

/** The index after some steps, and the letters that it must know of. */
function run(steps: readonly ({ put: Summary } | { deleted: number })[]) {
  const index = new LetterIndex()
  const sheet = new Sheet()
  const model = new Map<string, Summary>()
  for (const [at, each] of steps.entries()) {
    if ('put' in each) {
      const place = { segment: at % 3, offset: at * 10, length: 9 }
      index.take(sheet, sheet.addPut(each.put, index.kinds, place))
      model.set(each.put.id, each.put)
    } else if (model.size > 0) {
      const deleted = [...model.keys()][each.deleted % model.size]!
      index.take(sheet, sheet.addDelete(deleted))
      model.delete(deleted)
    }
  }
  return { index, sheet, model }
}

function listed(index: LetterIndex): Summary[] {
  const { columns, kinds } = index
  return [...index.inOrder]
    .filter(row => columns.state[row] !== DELETED)
    .reverse()
    .map(row => ({
      ...kinds.all[columns.kind[row]!]!,
      id: index.idOf(row),
      state: LETTER_STATES[columns.state[row]! - 1]!,
      firstFailedAt: columns.firstFailedAt[row]!,
      lastFailedAt: columns.lastFailedAt[row]!,
      updatedAt: columns.updatedAt[row]!,
      expiresAt: index.expiresAt(row) === Number.POSITIVE_INFINITY ? undefined : index.expiresAt(row),
      isReplayed: columns.isReplayed[row] === 1,
    }))
}

function inOrder(model: ReadonlyMap<string, Summary>): Summary[] {
  return [...model.values()].sort(comparePlaces)
}

describe('the index of letters', () => {
  it('E10: knows every letter as it was last written, newest first', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), steps => {
        const { index, model } = run(steps)
        expect(listed(index)).toEqual(inOrder(model))
        expect(index.count).toBe(model.size)
        for (const { id } of model.values()) expect(index.idOf(index.find(id)!)).toBe(id)
        expect(index.find('never seen')).toBeUndefined()
      }),
    )
  })

  it('E9: finds the place behind any letter', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 50 }), summary, (steps, place) => {
        const { index } = run(steps)
        const before = [...index.inOrder].filter(row => comparePlaces(index.placeInList(row), place) > 0)
        expect(index.countBefore(place)).toBe(before.length)
      }),
    )
  })

  it('E10: is the same when it is read from what was laid beside the segment', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.nat(), (steps, bytes) => {
        const { sheet, index: known, model } = run(steps)
        const written = writeIndex(sheet, known.kinds, bytes)
        const index = new LetterIndex()
        const read = readIndex(written, index.kinds, bytes)!
        for (let row = 0; row < read.rows; row++) index.take(read, row)
        expect(listed(index)).toEqual(inOrder(model))
        expect(readIndex(written, index.kinds, bytes + 1)).toBeUndefined()
      }),
    )
  })

  it('E10: what lies beside the segment is not used with any bit of it flipped, nor cut', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), fc.nat(), fc.nat(7), (steps, where, bit) => {
        const { sheet, index } = run(steps)
        const written = writeIndex(sheet, index.kinds, 1)
        const at = where % written.length
        expect(readIndex(Buffer.from(written.subarray(0, at)), index.kinds, 1)).toBeUndefined()
        written[at]! ^= 1 << bit
        expect(readIndex(written, index.kinds, 1)).toBeUndefined()
      }),
    )
  })

  it('E10: counts what still counts of every segment', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), steps => {
        const { index, model } = run(steps)
        const bytes = [0, 1, 2].map(segment => index.live.bytes(segment)).reduce((a, b) => a + b)
        expect(bytes).toBe(model.size * 10)
        const puts = steps.filter(each => 'put' in each).length
        expect([0, 1, 2].some(segment => index.live.hasDead(segment))).toBe(puts > model.size)
      }),
    )
  })

  it('E10: rows of deleted letters are used again, so that it does not grow for ever', () => {
    const { index } = run([])
    const sheet = new Sheet()
    const base: Summary = { ...fc.sample(summary, 1)[0]!, expiresAt: 1 }
    for (let round = 0; round < 40_000; round++) {
      const letter = { ...base, id: `letter ${round}`, lastFailedAt: round }
      index.take(sheet, sheet.addPut(letter, index.kinds, { segment: 1, offset: 0, length: 1 }))
      index.take(sheet, sheet.addDelete(letter.id))
    }
    expect(index.count).toBe(0)
    expect(index.rows).toBeLessThan(10_000)
  })

  it('a UUID reads back from its words, and nothing else is taken for one', () => {
    const words = new Uint32Array(4)
    fc.assert(
      fc.property(fc.uuid(), id => {
        expect(writeUuid(id, words, 0)).toBe(true)
        expect(readUuid(words, 0)).toBe(id)
      }),
    )
    for (const other of [...someIds.slice(2), `${someIds[0]} `, someIds[0]!.replaceAll('-', ' ')]) {
      expect(writeUuid(other, words, 0)).toBe(false)
    }
  })
})
