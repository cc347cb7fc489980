import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Broker,
  createConsumer,
  createEvent,
  fixed,
  type LazaretEvent,
  PermanentError,
  planReplay,
  type Store,
  startReplay,
} from 'lazaret'
import { createFactory, FakeClock } from 'lazaret/testing'
import { DONE } from './stored-format.ts'

const START = Date.parse('2026-11-17T12:00:00Z')
const YEAR_MS = 365 * 86_400_000
/** Long enough to close the consumer before the retry, and short enough for a test. */
const RETRY_MS = 5_000

/** What the stores get: the same letters, decisions, replays and audit entries each time. */
export async function fillStore(store: Store): Promise<void> {
  const clock = new FakeClock(START)
  const make = createFactory({ clock })
  const { deadLetters, groups, replays, audit, snapshots, ledger } = store
  const letters = [
    make.letter({
      event: make.event({
        key: 'customer-1',
        idempotencyKey: 'charge-1',
        source: '/shop',
        headers: { 'x-trace': 'a b' },
        payload: { text: 'žluťoučký 🐎', deep: [{ a: null }] },
      }),
      attempts: [make.attempt(1, { delayMs: 100 }), make.attempt(2)],
      origin: { broker: 'rabbitmq', brokerKind: 'rabbitmq', queue: 'orders', offset: '9007199254740993' },
      expiresAfterMs: 'never',
      autoReplay: true,
      detail: { limit: 1_000, list: [1, 'two', null] },
      metadata: { tenant: 'acme', tags: ['a', null] },
      job: 'nightly',
      release: '1.2.3',
      host: 'web-1',
    }),
    make.letter({ event: make.event({ payload: new Uint8Array([0, 127, 255]) }) }),
    { ...make.letter({ reason: 'poison', error: failureAt('parse', 'no total') }), state: 'quarantined' },
    { ...make.letter({ error: failureAt('charge', 'card refused') }), state: 'parked' },
    make.letter({ event: make.event({ channel: 'events' }), handler: 'loki', reason: 'rate_limited' }),
    make.letter({ error: failureAt('charge', 'card refused') }),
    make.letter({ event: make.event({ type: 'order.cancelled' }) }),
  ] as const
  for (const letter of letters) {
    await deadLetters.send(letter)
    await clock.advance(1_000)
  }
  const [first, bytes, , , , discarded, resolved] = letters
  const decision = { at: clock.now(), by: 'ann' }
  await deadLetters.change(discarded!.id, { to: 'discarded', ...decision })
  const newIds = ['01998000-0000-7000-8000-000000000001', '01998000-0000-7000-8000-000000000002']
  const environment = { clock, newId: () => newIds.shift()! }
  const request = { by: 'ann', maxAgeMs: 100 * YEAR_MS, perSecond: 1_000 }
  const ended = await planReplay(
    store,
    { ...request, ids: [resolved!.id], reason: 'the database is back' },
    environment,
  )
  const started = await startReplay(store, ended.id, { by: 'ann', clock })
  await deadLetters.change(resolved!.id, { to: 'replaying', replayId: ended.id, ...decision })
  await deadLetters.change(resolved!.id, { to: 'resolved', at: clock.now() })
  const [item] = await replays.items(ended.id)
  const endedAt = clock.now()
  await replays.record(ended.id, [
    { ...item!, status: 'recovered', cycle: 1, sentAt: endedAt, handedOn: 'durable', endedAt },
  ])
  await replays.update({ ...started, state: 'finished', endedAt })
  await clock.advance(1_000)
  const patch = [{ op: 'add', path: '/patched', value: true }] as const
  // Nobody has started this one. A newer version runs it to its end.
  await planReplay(store, { ...request, ids: [first.id], patch, reason: 'with a patch' }, environment)
  const [group] = (await groups.list({ search: 'card refused' })).groups
  await groups.change(group!.id, {
    ...{ state: 'acknowledged', owner: 'bob', link: 'https://tickets.example/7', note: 'asked the bank' },
    ...{ at: clock.now(), by: 'bob' },
  })
  await audit.append({
    ...{ at: clock.now(), by: 'ann', action: 'payload.reveal', target: bytes.id },
    detail: { reason: 'ticket 7' },
  })
  await snapshots.append([
    {
      ...{ v: 1, at: clock.now(), channel: 'orders', depth: 5, oldestAt: START, overAge: 1 },
      ...{ averageRetries: 1.5, sampled: 5, errors: [{ fingerprint: group!.id, name: 'Error', count: 1 }] },
    },
  ])
  if (ledger === undefined) return
  const claim = await ledger.claim(DONE.handler, DONE.key, 60_000)
  if (claim.kind !== 'claimed') throw new Error(`the ledger is not empty: ${claim.kind}`)
  await ledger.complete(DONE.handler, DONE.key, claim.token)
}

/** One letter that is sealed, in a store that is opened with the key. */
export async function addSealedLetter({ deadLetters }: Store): Promise<void> {
  const clock = new FakeClock(START + 3_600_000)
  const make = createFactory({ clock })
  const event = make.event({ key: 'customer-2', payload: { password: 'hunter2' }, channel: 'logins' })
  await deadLetters.send(make.letter({ event, handler: 'check', error: failureAt('login', 'for hunter2') }))
}

/** Leaves a dead letter, an event that waits for its retry, and one that no handler has had. */
export async function fillBroker(broker: Broker, store: Store): Promise<void> {
  const handled = new Set<string>()
  const consumer = createConsumer({
    ...{ broker, deadLetters: store.deadLetters, channel: 'shipping', name: 'ship', leaveOpen: true },
    retry: { attempts: 5, backoff: fixed({ delayMs: RETRY_MS, jitter: 'none' }) },
    async handle({ id, payload }) {
      handled.add(id)
      if ((payload as { parcel: string }).parcel === 'unknown') throw permanentAt('ship', 'no such parcel')
      throw failureAt('ship', 'the carrier is closed')
    },
  })
  await consumer.start()
  await broker.publish(['unknown', 'late'].map(parcelEvent))
  while (handled.size < 2) await sleep(20)
  await consumer.close()
  await broker.publish([parcelEvent('next')])
}

function parcelEvent(parcel: string): LazaretEvent {
  return createEvent({ type: 'parcel.packed', channel: 'shipping', key: parcel, payload: { parcel } })
}

/** The place in the stack is fixed, because groups are made of it. */
function failureAt(place: string, message: string): Error {
  return withStack(new Error(message), place)
}

function permanentAt(place: string, message: string): Error {
  return withStack(new PermanentError(message), place)
}

function withStack<E extends Error>(error: E, place: string): E {
  error.stack = `${error.name}: ${error.message}\n    at ${place} (/app/${place}.ts:7:11)`
  return error
}
