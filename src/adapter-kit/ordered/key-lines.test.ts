import { describe, expect, it } from 'vitest'
import type { SubscriptionStatus } from '../../ports/broker.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { StallReporter } from '../delivery/stalls.ts'
import { KeyLines } from './key-lines.ts'
import type { LineEvent } from './lines.ts'

interface Held {
  readonly isHeld: boolean
  line: LineEvent<Held> | undefined
}

const DAY_MS = 86_400_000

function world() {
  const clock = new FakeClock()
  const statuses: SubscriptionStatus[] = []
  const offered: string[] = []
  const answered: string[] = []
  const resolved: string[] = []
  const state = { isComplete: true, isFull: false, isStored: Promise.resolve(true) }
  const moved: LineEvent<Held>[][] = []
  const stored: Held[] = []
  const stalls = new StallReporter(status => statuses.push(status))
  const lines = new KeyLines<Held, string>(
    { clock, stalls, source: 'here' },
    {
      ready: event => {
        event.state = 'offered'
        offered.push(event.heldKey)
      },
      woke: () => {},
      isComplete: () => state.isComplete,
      resolve: async event => {
        resolved.push(event.heldKey)
        return true
      },
      answered: request => answered.push(request),
      full: isFull => {
        state.isFull = isFull
      },
      store: events => {
        moved.push([...events])
        return state.isStored
      },
      stored: entry => stored.push(entry),
      madeRoom: () => {},
    },
  )
  let place = 0
  const add = (line: string, id = `${line}${place}`, waitMs = 0): LineEvent<Held> => {
    const entry: Held = { isHeld: false, line: undefined }
    lines.add(entry, { line, id, heldKey: String(++place), place, waitMs })
    return entry.line!
  }
  return { clock, statuses, offered, answered, resolved, moved, stored, state, lines, add }
}

describe('KeyLines', () => {
  it('B9: a key that is unblocked before its event is dead is not blocked, also behind others', async () => {
    const { clock, lines, add, offered, answered, resolved } = world()
    const [first, second] = [add('a'), add('a', 'dies')]
    add('a')
    await lines.unblock('dies', 'request')
    expect(answered).toEqual([])
    lines.remove(first)
    second.heldAt = 7
    lines.die(second)
    await clock.advance(0)
    expect({ offered, answered, resolved }).toEqual({
      offered: ['1', '2', '3'],
      answered: ['request'],
      resolved: ['2'],
    })
  })

  it('B9: a request for an event that has not come again yet waits until it has', async () => {
    const { lines, state, answered } = world()
    state.isComplete = false
    await lines.unblock('unknown', 'request')
    expect(answered).toEqual([])
    state.isComplete = true
    lines.completed()
    expect(answered).toEqual(['request'])
  })

  it('B9: a request does not wait for days behind a dead-lettered event, and does wait while its event is being handled', async () => {
    const { clock, lines, add, answered } = world()
    lines.die(add('a'))
    add('a', 'behind')
    add('b', 'running')
    await lines.unblock('behind', 'for behind')
    await lines.unblock('running', 'for running')
    await clock.advance(DAY_MS)
    expect(answered).toEqual(['for behind'])
  })

  it('B9: a replay that comes before the death is on record takes the place of its event', () => {
    const { lines, add, offered } = world()
    const dying = add('a', 'same')
    add('a', 'same')
    add('a')
    lines.die(dying)
    expect(offered).toEqual(['1', '1'])
  })

  it('B9: an id that is dead under two keys: a replay takes the place of that of its key, and a request unblocks both', async () => {
    const { lines, add, offered, answered, resolved } = world()
    const [first, second] = [add('a', 'same'), add('b', 'same')]
    for (const event of [first, second]) {
      event.heldAt = event.place
      lines.die(event)
    }
    const replay = add('b', 'same')
    expect(replay).toBe(second)
    lines.die(second)
    await lines.unblock('same', 'request')
    expect({ offered, answered, resolved }).toEqual({
      offered: ['1', '2', '2'],
      answered: ['request'],
      resolved: ['1', '2'],
    })
  })

  it('B9: an event that waits is offered when its time has come, however often its line was looked at', async () => {
    const { clock, lines, add, offered } = world()
    const waiting = add('a', 'waits', 100)
    for (let count = 0; count < 50; count++) add('a')
    expect(clock.pending).toBe(1)
    await clock.advance(100)
    expect(offered).toEqual([waiting.heldKey])
    lines.wait(waiting, 50)
    await clock.advance(49)
    expect(offered).toHaveLength(1)
    await clock.advance(1)
    expect(offered).toHaveLength(2)
  })

  it('B9: events behind a held one are stored once, and events of other keys are not', async () => {
    const { lines, add, moved, stored } = world()
    const [held, other] = [add('a'), add('b')]
    const behind = add('a')
    add('b')
    held.heldAt = 1
    lines.wait(held, 1_000)
    await lines.storeWaiting()
    await lines.storeWaiting()
    expect({ moved, entries: stored.length, entry: behind.entry }).toEqual({
      moved: [[behind]],
      entries: 1,
      entry: undefined,
    })
    expect(other.entry).toBeDefined()
  })

  it('P1: events behind a held one are stored after a while: the retention of the channel would remove them', async () => {
    const { clock, lines, add, moved } = world()
    const held = add('a')
    const behind = add('a')
    held.heldAt = 1
    lines.die(held)
    await clock.advance(10_000)
    expect(moved).toEqual([[behind]])
    const later = add('a')
    await clock.advance(10_000)
    expect(moved).toEqual([[behind], [later]])
    lines.close()
    expect(clock.pending).toBe(0)
  })

  it('B9: closed lines offer nothing, whatever was on its way when they were closed', async () => {
    const { lines, add, offered, answered, stored, state } = world()
    const dead = add('a', 'dead')
    add('a')
    dead.heldAt = 1
    lines.die(dead)
    const held = add('b')
    add('b')
    held.heldAt = 2
    lines.wait(held, 1_000)
    const before = offered.length
    const gate = Promise.withResolvers<boolean>()
    state.isStored = gate.promise
    const storing = lines.storeWaiting()
    const unblocking = lines.unblock('dead', 'request')
    lines.close()
    gate.resolve(true)
    await storing
    await unblocking
    lines.remove(held)
    expect({ offered: offered.length, answered, stored }).toEqual({
      offered: before,
      answered: [],
      stored: [],
    })
  })

  it('B9: when too many events wait, that is reported and new ones stay away, until one is resolved', () => {
    const { lines, state, statuses } = world()
    const held = Array.from({ length: 100_000 }, (_, place): LineEvent<Held> => {
      const heldKey = String(place)
      return { line: 'a', id: heldKey, heldKey, place, state: 'dead', entry: undefined, heldAt: 1, dueAt: 0 }
    })
    lines.open(held)
    expect(state.isFull).toBe(true)
    expect(statuses).toMatchObject([{ state: 'stalled', place: 'deliveries' }])
    lines.remove(held[0]!)
    expect(state.isFull).toBe(false)
    expect(statuses.at(-1)).toMatchObject({ state: 'recovered' })
  })
})
