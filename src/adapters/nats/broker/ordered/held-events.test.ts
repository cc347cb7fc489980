import { describe, expect, it } from 'vitest'
import { EMPTY_LOG } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import type { LineEvent } from '../../../../adapter-kit/ordered/lines.ts'
import { FakeClock } from '../../../../testing/fake-clock.ts'
import type { HeaderList } from '../../connection/headers.ts'
import { ERROR, type StoredMessage } from '../../connection/jetstream.ts'
import type { OutgoingMessage } from '../../connection/publisher.ts'
import { JetStreamError } from '../../errors.ts'
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
  const gate = { deleting: Promise.resolve(), failures: 0 }
  /** As servers from 2.11 on. */
  const server = { checksFences: true, maxBytes: Number.POSITIVE_INFINITY }
  const put = (subject: string, headers: HeaderList, data: Uint8Array): number => {
    for (const [sequence, message] of stored) if (message.subject === subject) stored.delete(sequence)
    stored.set(++last, { subject, sequence: last, headers, data, storedAt: clock.now() })
    return last
  }
  const context = {
    id: 'us',
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
        if (gate.failures-- > 0) throw new Error('no answer')
        stored.delete(sequence)
      },
    },
    publisher: {
      fits: ({ data }: OutgoingMessage) => data.length <= server.maxBytes,
      publish: async (messages: readonly OutgoingMessage[]) =>
        messages.map(({ subject, headers, data, fence, lastSequence }) => {
          const checked = server.checksFences ? (fence?.subject ?? subject) : subject
          const expected = fence?.sequence ?? lastSequence
          const last = [...stored.values()].findLast(each => each.subject === checked)?.sequence ?? 0
          if (expected !== undefined && expected !== last)
            throw new JetStreamError('publish', ERROR.wrongLastSequence, 'wrong last sequence')
          return put(subject, headers, data)
        }),
    },
  } as unknown as SubscriptionContext
  const newOwner = () => new HeldEvents(context, () => true)
  const putHeld = (kind: 'waiting' | 'dead', heldKey: string, header: string) =>
    put(`${NAMES.stateSubject}.${kind}.${heldKey}`, [[OWN.held, header]], new Uint8Array())
  const subjects = () =>
    [...stored.values()]
      .map(({ subject }) => subject.split('.').slice(-2).join('.'))
      .filter(subject => !subject.startsWith('fence.'))
  const messageOf = (end: string) => [...stored.values()].find(({ subject }) => subject.endsWith(end))
  return { newOwner, gate, server, putHeld, subjects, messageOf }
}

function entryOf(): Entry {
  return { message: { headers: [], data: new Uint8Array() }, log: { origin: {} } } as unknown as Entry
}

describe('HeldEvents', () => {
  it('B9: an event that is held again while it is resolved knows where its state is', async () => {
    const { newOwner, gate, subjects } = world()
    const held = newOwner()
    await held.read()
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

  it('A2: the state of a message that leaves no room for it tells the next owner which message it is, and its attempts', async () => {
    const { newOwner, server, subjects } = world()
    server.maxBytes = 0
    const held = newOwner()
    await held.read()
    const event = eventOf('x')
    const message = { headers: [], data: new Uint8Array(1), sequence: 7, storedAt: 36 }
    const entry = { ...entryOf(), source: 'retries', message } as unknown as Entry
    const log = { started: 2, ended: 1, history: [] }
    await held.hold([{ event, entry, log, notBefore: 0 }])
    const next = newOwner()
    const [read] = await next.read()
    expect(next.inPlace.attemptsOf(read!)).toEqual(log)
    expect(next.inPlace.heldKeyOf('10-r7')).toBe('x')
    await next.resolve(read!)
    expect(next.inPlace.attemptsOf(read!)).toBeUndefined()
    expect(subjects()).toEqual([])
  })

  it('P1: a held event that leaves no room for its attempts any more keeps its message', async () => {
    const { newOwner, server, messageOf } = world()
    const held = newOwner()
    await held.read()
    const event = eventOf('x')
    const message = {
      headers: [],
      data: Buffer.from('payload'),
      stream: NAMES.streams.events,
      sequence: 7,
      storedAt: 36,
    }
    const fresh = { ...entryOf(), source: 'events', message } as unknown as Entry
    await held.hold([{ event, entry: fresh, log: EMPTY_LOG, notBefore: 0 }])
    const loaded = await held.entry(event)
    server.maxBytes = 0
    await held.hold([{ event, entry: loaded!, log: { started: 2, ended: 1, history: [] }, notBefore: 0 }])
    expect(Buffer.from(messageOf('waiting.x')!.data).toString()).toBe('payload')
  })

  it.each(['broken {', 'null', '7'])(
    'B9: a header of a stranger does not keep an owner from reading: %s',
    async header => {
      const { newOwner, putHeld } = world()
      const held = newOwner()
      putHeld('waiting', 'foreign', header)
      putHeld('waiting', 'ours', JSON.stringify({ line: 'key a', place: 3, id: 'one' }))
      const events = [...(await held.read())]
      expect(events.map(({ heldKey }) => heldKey)).toContain('ours')
    },
  )

  it('P1: an event is not taken for another one that has its sequence in a state stream that was made again', async () => {
    const { newOwner, putHeld } = world()
    const held = newOwner()
    const header = JSON.stringify({ line: 'key a', place: 3, id: 'one' })
    putHeld('waiting', 'other', header)
    expect(await held.entry(eventOf('x', 1))).toBeUndefined()
    const moved = eventOf('y', 1)
    const sequence = putHeld('waiting', 'y', header)
    expect((await held.entry(moved))?.message.sequence).toBe(sequence)
    expect(moved.heldAt).toBe(sequence)
  })

  it('B9: the server refuses what an owner writes after the next one has read the states', async () => {
    const { newOwner, subjects } = world()
    const old = newOwner()
    await old.read()
    await newOwner().read()
    await expect(old.markDead(eventOf('x'))).rejects.toMatchObject({ name: 'LeaseExpiredError' })
    expect(subjects()).toEqual([])
  })

  it('B9: many states are stored at once, and each keeps its sequence', async () => {
    const { newOwner, subjects } = world()
    const held = newOwner()
    await held.read()
    const events = Array.from({ length: 40 }, (_, index) => eventOf(`x${index}`))
    const stored = events.map(event => ({ event, entry: entryOf(), log: EMPTY_LOG, notBefore: 0 }))
    await held.hold(stored)
    expect(subjects()).toHaveLength(40)
    const read = await newOwner().read()
    for (const { heldKey, heldAt } of read)
      expect(events.find(event => event.heldKey === heldKey)?.heldAt).toBe(heldAt)
  })

  it('B9: a server that cannot check who writes gets the states too', async () => {
    const { newOwner, server, subjects } = world()
    server.checksFences = false
    const held = newOwner()
    await held.read()
    await held.markDead(eventOf('x'))
    await held.markDead(eventOf('y'))
    expect(subjects()).toEqual(['dead.x', 'dead.y'])
  })

  it('B9: of two states of an event the later one is kept although the first removal fails', async () => {
    const { newOwner, gate, putHeld, subjects } = world()
    const header = JSON.stringify({ line: 'key a', place: 3, id: 'one' })
    putHeld('waiting', 'x', header)
    putHeld('dead', 'x', header)
    const held = newOwner()
    gate.failures = 1
    await expect(held.read()).rejects.toThrow()
    expect(await held.read()).toMatchObject([{ heldKey: 'x', state: 'dead' }])
    expect(subjects()).toEqual(['dead.x'])
  })

  it('B9: an event that is resolved leaves no earlier state behind whose removal failed', async () => {
    const { newOwner, gate, subjects } = world()
    const held = newOwner()
    await held.read()
    const event = eventOf('x')
    await held.hold([{ event, entry: entryOf(), log: EMPTY_LOG, notBefore: 0 }])
    gate.failures = 1
    await held.markDead(event)
    expect(subjects()).toEqual(['waiting.x', 'dead.x'])
    await held.resolve(event)
    expect(subjects()).toEqual([])
  })
})
