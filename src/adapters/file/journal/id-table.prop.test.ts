import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hashOf, IdTable } from './id-table.ts'

describe('the table of ids', () => {
  it('E10: finds what was added last and not removed since, also among ids of the same hash', () => {
    const id = fc.oneof(fc.nat(30).map(String), fc.uuid(), fc.constantFrom('', '__proto__', 'ž'))
    fc.assert(
      fc.property(
        fc.array(fc.tuple(id, fc.boolean()), { maxLength: 200 }),
        fc.constantFrom(1, 3, 2 ** 32),
        (steps, hashes) => {
          const ids: string[] = []
          const table = new IdTable(address => ids[address]!)
          const hash = (id: string) => hashOf(id) % hashes
          const find = (id: string) => table.find(hash(id), () => id)
          const model = new Map<string, number>()
          for (const [id, isAdded] of steps) {
            const before = find(id)
            if (before !== undefined) table.remove(hash(id), before)
            model.delete(id)
            if (!isAdded) continue
            const address = ids.push(id) - 1
            table.add(hash(id), address)
            model.set(id, address)
          }
          expect(table.count).toBe(model.size)
          for (const [id] of steps) expect(find(id)).toBe(model.get(id))
        },
      ),
    )
  })
})
