import fc from 'fast-check'
import { expect, it } from 'vitest'
import { behindHeld } from './behind-held.ts'
import { type LineEvent, Lines } from './lines.ts'

type Held = { readonly isHeld: boolean }

function event(line: string, place: number, more: Partial<LineEvent<Held>> = {}): LineEvent<Held> {
  const heldKey = `${line}:${place}`
  const entry = { isHeld: false }
  return { line, id: heldKey, heldKey, place, state: 'ready', entry, heldAt: undefined, dueAt: 0, ...more }
}

it('B9: whatever comes and goes, the first of a line is the one with the lowest place', () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ add: fc.constantFrom('a', 'b', 'c'), place: fc.nat({ max: 30 }) }),
      fc.record({ remove: fc.constantFrom('a', 'b', 'c') }),
    ),
    { maxLength: 80 },
  )
  fc.assert(
    fc.property(steps, all => {
      const lines = new Lines<Held>()
      const model = new Map<string, LineEvent<Held>[]>()
      for (const step of all) {
        if ('add' in step) {
          const added = event(step.add, step.place)
          if (lines.get(added.heldKey) !== undefined) continue
          lines.add(added)
          model.set(step.add, [...(model.get(step.add) ?? []), added])
        } else {
          const first = lines.first(step.remove)
          if (first === undefined) continue
          lines.remove(first)
          model.set(
            step.remove,
            model.get(step.remove)!.filter(each => each !== first),
          )
        }
        for (const [line, events] of model) {
          const lowest = events.toSorted((a, b) => a.place - b.place)[0]
          expect(lines.first(line)).toBe(lowest)
        }
        expect(lines.size).toBe([...model.values()].flat().length)
      }
    }),
    { seed: 22, numRuns: 300 },
  )
})

it('B9: a dead-lettered event is found by its id until it is resolved or published again', () => {
  const lines = new Lines<Held>()
  const dead = event('a', 1, { state: 'dead' })
  lines.add(dead)
  expect(lines.dead(dead.id)).toBe(dead)
  dead.state = 'ready'
  expect(lines.dead(dead.id)).toBeUndefined()
  dead.state = 'dead'
  lines.remove(dead)
  expect([lines.dead(dead.id), lines.size]).toEqual([undefined, 0])
})

it('B9: only events behind a held one leave the process, because a new owner delivers held events first', () => {
  const lines = new Lines<Held>()
  lines.add(event('open', 1, { state: 'offered' }))
  lines.add(event('open', 2))
  lines.add(event('dead', 3, { state: 'dead', heldAt: 7, entry: undefined }))
  const [behind, held] = [event('dead', 4), event('dead', 5, { entry: { isHeld: true } })]
  lines.add(behind)
  lines.add(held)
  lines.add(event('dead', 6, { state: 'moving' }))
  expect(behindHeld(lines)).toEqual([behind])
})

it('B9: an event is known by its id behind others too, as after a lost commit', () => {
  const lines = new Lines<Held>()
  const [first, second] = [event('a', 1), event('a', 2)]
  lines.add(first)
  lines.add(second)
  expect([first, second].map(({ id }) => lines.ofId(id))).toEqual([[first], [second]])
  lines.remove(second)
  expect(lines.ofId(second.id)).toEqual([])
})
