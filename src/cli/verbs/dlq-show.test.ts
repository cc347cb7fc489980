import { describe, expect, it } from 'vitest'
import { cliWorld } from '../../../test/support/cli.ts'

/** A letter with a crash in its first cycle, and a replay that failed too. */
async function storied() {
  const world = cliWorld()
  const { factory, clock, store } = world
  const event = factory.event({
    key: 'customer-7',
    headers: { authorization: 'Bearer abcdef123456', trace: 't1' },
    payload: { card: { number: '4111111111111111' }, amount: 42 },
  })
  const at = clock.now()
  const failed = { startedAt: at, endedAt: at + 120 }
  const attempts = [
    factory.attempt(1, { ...failed, delayMs: 1_000 }),
    factory.attempt(2, { startedAt: at + 1_120, endedAt: undefined, failure: undefined }),
    factory.attempt(3, { startedAt: at + 5_000, endedAt: at + 5_030 }),
  ]
  const first = factory.letter({
    event,
    attempts,
    at: at + 5_030,
    origin: { broker: 'sqlite', queue: 'orders' },
  })
  await store.deadLetters.send(first)
  await clock.advance(3_600_000)
  const again = factory.letter({
    event,
    replay: 1,
    replayId: '019b7700-0000-7000-8000-000000000000',
    replayedBy: 'bob',
    error: new RangeError('limit passed'),
    attempts: [],
    attemptCount: 0,
    reason: 'permanent',
  })
  await store.deadLetters.send(again)
  return { ...world, id: first.id }
}

describe('dlq show', () => {
  it('F8: tells the whole story: what, why, every attempt of every cycle, the masked payload', async () => {
    const { lazaret, id } = await storied()
    const { code, out, err } = await lazaret('dlq', 'show', id)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toBe(`dead letter ${id}  dead
  channel   orders, handler bill
  event     order.placed  019b76da-a800-7005-a1c1-b13afb2627fd
  key       customer-7
  occurred  2026-01-01T00:00:00.000Z (1h ago)
  origin    broker sqlite, queue orders
  reason    permanent: Permanent error: retrying cannot succeed.
  failure   RangeError: limit passed (unknown)
  group     14ac46a64c2fa97b  by message: RangeError: limit passed
  failed    2026-01-01T01:00:00.000Z (now)
  replays   1, latest 019b7700-0000-7000-8000-000000000000
  expires   by the retention of its store

First delivery: 3 attempts; reason attempts_exhausted, category transient
  1. 2026-01-01T00:00:00.000Z after 120ms  Error: connect ECONNREFUSED 127.0.0.1:5432 (transient)  then waited 1s
  2. 2026-01-01T00:00:01.120Z did not end: the process died during it
  3. 2026-01-01T00:00:05.000Z after 30ms  Error: connect ECONNREFUSED 127.0.0.1:5432 (transient)

Replay 1 (019b7700-0000-7000-8000-000000000000) by bob: 0 attempts; reason permanent, category unknown

Headers
  authorization  ***
  trace          t1

Payload (masked; --reveal shows all values)
  {
    "card": {
      "number": "***"
    },
    "amount": 42
  }
`)
  })

  it('F8: --reveal shows payload and headers whole, and is audited before', async () => {
    const { lazaret, id, audited } = await storied()
    const { out } = await lazaret('dlq', 'show', id, '--reveal')
    expect(out).toContain('"number": "4111111111111111"')
    expect(out).toContain('Bearer abcdef123456')
    expect(await audited()).toEqual([['payload.reveal', id, 'ann']])
  })

  it('F8: --json is one document', async () => {
    const { lazaret, id } = await storied()
    const { json } = await lazaret('dlq', 'show', id, '--json')
    expect(json).toHaveLength(1)
    expect(json[0]).toMatchObject({
      id,
      replays: 1,
      endedCycles: [{ number: 0, endedAt: '2026-01-01T01:00:00.000Z' }],
      event: { headers: { authorization: '***' }, payload: { card: { number: '***' } } },
    })
  })

  it('F8: the beginning or end of an id is enough, as long as it is one letter only', async () => {
    const { lazaret, id, store, factory } = await storied()
    expect((await lazaret('dlq', 'show', id.slice(-6), '--json')).json[0]).toMatchObject({ id })
    expect((await lazaret('dlq', 'show', id.slice(0, 16), '--json')).json[0]).toMatchObject({ id })
    await store.deadLetters.send(factory.letter())
    const { code, err } = await lazaret('dlq', 'show', '019b')
    expect(code).toBe(2)
    expect(err).toMatch(/^lazaret: 019b matches \S+ and \S+; type more of the ID\n$/)
  })

  it('F8: an unknown id fails in one line', async () => {
    const { lazaret } = await storied()
    expect(await lazaret('dlq', 'show', 'nope')).toMatchObject({
      code: 1,
      out: '',
      err: "lazaret: no dead letter has the ID nope; run 'lazaret dlq list' to see the IDs\n",
    })
    expect((await lazaret('dlq', 'show', '01')).err).toContain('a shortened ID needs at least 4 characters')
  })

  it('R15: metadata are shown masked, by name and by the values that are masked in the event', async () => {
    const { lazaret, store, factory } = cliWorld()
    const event = factory.event({ payload: { password: 'hunter2' } })
    const metadata = { tenant: 'acme', apiKey: 'k-1', copied: 'pw hunter2', sentAt: 1_000 }
    const letter = factory.letter({ event, metadata })
    await store.deadLetters.send(letter)
    const masked = { tenant: 'acme', apiKey: '***', copied: 'pw ***', sentAt: 1_000 }
    expect((await lazaret('dlq', 'show', letter.id)).out).toContain(`metadata  ${JSON.stringify(masked)}\n`)
    expect((await lazaret('dlq', 'show', letter.id, '--json')).json[0]).toMatchObject({ metadata: masked })
    const { out } = await lazaret('dlq', 'show', letter.id, '--reveal')
    expect(out).toContain(`metadata  ${JSON.stringify(metadata)}\n`)
  })

  it('F8: bytes are told by their size, and shown as base64 when revealed', async () => {
    const { lazaret, store, factory } = cliWorld()
    const letter = factory.letter({ event: factory.event({ payload: new Uint8Array([1, 2, 255]) }) })
    await store.deadLetters.send(letter)
    expect((await lazaret('dlq', 'show', letter.id)).out).toContain('"[3 bytes]"')
    expect((await lazaret('dlq', 'show', letter.id, '--reveal')).out).toContain('"AQL/"')
  })
})
