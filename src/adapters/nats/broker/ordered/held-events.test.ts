import { describe, expect, it } from 'vitest'
import { EMPTY_LOG } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import type { LineEvent } from '../../../../adapter-kit/ordered/lines.ts'
import { FakeClock } from '../../../../testing/fake-clock.ts'
import type { HeaderList } from '../../connection/headers.ts'
import type { StoredMessage } from '../../connection/jetstream.ts'
import type { OutgoingMessage } from '../../connection/publisher.ts'
import type { SubscriptionContext } from '../consume/context.ts'
import type { Entry } from '../consume/entry.ts'
import { namesOf } from '../streams/names.ts'
import { OWN } from '../wire/headers.ts'
import { HeldEvents } from './held-events.ts'

const NAMES = namesOf('orders', 'bill')

type Event = LineEvent<Entry>

function eventOf(heldKey: string, heldAt: number | undefined = undefined): Event {
  return {
    line: 'key a',
    id: heldKey,
    heldKey,
    place: 1,
    state: 'offered',
    entry: undefined,
    heldAt,
    dueAt: 0,
  }
}

/** A state stream. */
function world() {
  const clock = new FakeClock()
  const stored = new Map<number, StoredMessage>()
  let last = 0
  const gate = { deleting: Promise.resolve() }
  const put = (subject: string, headers: HeaderList, data: Uint8Array): number => {
    for (const [sequence, message] of stored) if (message.subject === subject) stored.delete(sequence)
    stored.set(++last, { subject, sequence: last, headers, data, storedAt: clock.now() })
    return last
  }
  const context = {
    settings: { clock, name: 'nats' },
    names: NAMES,
    streams: { name: () => NAMES.streams.state },
    jetstream: {
      message: async (
        _: string,
        which: { seq: number; next_by_subj?: string; last_by_subj?: string },
      ): Promise<StoredMessage | undefined> => {
        const { seq, next_by_subj, last_by_subj } = which
        if (last_by_subj !== undefined)
          return [...stored.values()].findLast(({ subject }) => subject === last_by_subj)
        if (next_by_subj === undefined) return stored.get(seq)
        const beginning = next_by_subj.slice(0, -1)
        return [...stored.values()].find(each => each.sequence >= seq && each.subject.startsWith(beginning))
      },
      deleteMessage: async (_: string, sequence: number) => {
        await gate.deleting
        stored.delete(sequence)
      },
    },
    publisher: {
      publish: async (messages: readonly OutgoingMessage[]) =>
        messages.map(({ subject, headers, data }) => put(subject, headers, data)),
    },
  } as unknown as SubscriptionContext
  const held = new HeldEvents(context, () => true)
  const putHeld = (kind: 'waiting' | 'dead', heldKey: string, header: string) =>
    put(`${NAMES.stateSubject}.${kind}.${heldKey}`, [[OWN.held, header]], new Uint8Array())
  const subjects = () => [...stored.values()].map(({ subject }) => subject.split('.').slice(-2).join('.'))
  return { held, gate, stored, putHeld, subjects }
}

function entryOf(): Entry {
  return { message: { headers: [], data: new Uint8Array() }, log: { origin: {} } } as unknown as Entry
}

describe('HeldEvents', () => {
  it('B9: an event that is held again while it is resolved knows where its state is', async () => {
    const { held, gate, subjects } = world()
    const event = eventOf('x')
    await held.markDead(event)
    const { promise, resolve } = Promise.withResolvers<void>()
    gate.deleting = promise
    const resolving = held.resolve(event)
    const holding = held.hold([{ event, entry: entryOf(), log: EMPTY_LOG, notBefore: 0 }])
    resolve()
    await Promise.all([resolving, holding])
    expect(subjects()).toEqual(['waiting.x'])
    await held.resolve(event)
    expect(subjects()).toEqual([])
  })

  it.each(['broken {', 'null', '7'])(
    'B9: a header of a stranger does not keep an owner from reading: %s',
    async header => {
      const { held, putHeld } = world()
      putHeld('waiting', 'foreign', header)
      putHeld('waiting', 'ours', JSON.stringify({ line: 'key a', place: 3, id: 'one' }))
      const events = [...(await held.read())]
      expect(events.map(({ heldKey }) => heldKey)).toContain('ours')
    },
  )

  it('P1: an event is not taken for another one that has its sequence in a state stream that was made again', async () => {
    const { held, putHeld } = world()
    const header = JSON.stringify({ line: 'key a', place: 3, id: 'one' })
    putHeld('waiting', 'other', header)
    expect(await held.entry(eventOf('x', 1))).toBeUndefined()
    const moved = eventOf('y', 1)
    const sequence = putHeld('waiting', 'y', header)
    expect((await held.entry(moved))?.message.sequence).toBe(sequence)
    expect(moved.heldAt).toBe(sequence)
  })
})
