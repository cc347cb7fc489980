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
  expect([...lines.dead(dead.id)]).toEqual([dead])
  dead.state = 'ready'
  expect([...lines.dead(dead.id)]).toEqual([])
  dead.state = 'dead'
  lines.remove(dead)
  expect([[...lines.dead(dead.id)], lines.size]).toEqual([[], 0])
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
  expect([first, second].map(({ id }) => [...lines.ofId(id)])).toEqual([[first], [second]])
  lines.remove(second)
  expect([...lines.ofId(second.id)]).toEqual([])
})

it('B9: of an id that many lines have, all events are found, each in its line', () => {
  const lines = new Lines<Held>()
  const events = ['a', 'b', 'c'].map((line, place) => event(line, place, { id: 'same', state: 'dead' }))
  for (const each of events) lines.add(each)
  expect([...lines.dead('same')]).toEqual(events)
  expect(lines.deadIn('b', 'same')).toBe(events[1])
  lines.remove(events[1]!)
  expect(lines.deadIn('b', 'same')).toBeUndefined()
  expect([...lines.dead('same')]).toEqual([events[0], events[2]])
})

it('B9: 50 000 events of one id come and go without copies of them all', { timeout: 30_000 }, () => {
  const lines = new Lines<Held>()
  const events = Array.from({ length: 50_000 }, (_, place) => event(String(place), place, { id: 'same' }))
  for (const each of events) lines.add(each)
  for (const each of events) lines.remove(each)
  expect(lines.size).toBe(0)
})
