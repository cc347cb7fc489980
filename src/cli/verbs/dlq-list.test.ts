import { describe, expect, it } from 'vitest'
import { cliWorld } from '../../../test/support/cli.ts'

/** Three letters, an hour apart: a refused connection, a broken card number, one that no attempt was made of. */
async function threeLetters() {
  const world = cliWorld()
  const { factory, clock, store } = world
  await store.deadLetters.send(factory.letter())
  await clock.advance(3_600_000)
  const error = new TypeError('no such card 4111 1111 1111 1111')
  await store.deadLetters.send(factory.letter({ channel: 'billing', error, reason: 'permanent' }))
  await clock.advance(3_600_000)
  const event = factory.event({ type: 'cart.left', payload: { password: 'hunter2', amount: 7 } })
  await store.deadLetters.send(
    factory.letter({ event, reason: 'rate_limited', failure: undefined, attempts: [] }),
  )
  return world
}

describe('dlq list', () => {
  it('F8: is a table, newest failure first; off a terminal whole and with ISO times', async () => {
    const { lazaret } = await threeLetters()
    const { code, out, err } = await lazaret('dlq', 'list')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toBe(
      [
        'ID                                    STATE  CHANNEL  HANDLER  TYPE          REASON              ATTEMPTS  FAILED                    ERROR',
        '019b7748-8500-88c4-a4b3-c3c762c95a73  dead   orders   bill     cart.left     rate_limited        0         2026-01-01T02:00:00.000Z  -',
        '019b7711-9680-8d36-8403-aa2738153149  dead   billing  bill     order.placed  permanent           1         2026-01-01T01:00:00.000Z  TypeError: no such card ***',
        '019b76da-a800-843a-a6be-62e440f660c4  dead   orders   bill     order.placed  attempts_exhausted  1         2026-01-01T00:00:00.000Z  Error: connect ECONNREFUSED 127.0.0.1:5432',
        '',
      ].join('\n'),
    )
  })

  it('F8: on a terminal it fits, says how long ago, and is coloured unless NO_COLOR says not to', async () => {
    const { lazaretWith } = await threeLetters()
    const env = { LAZARET_STORE: 'memory:' }
    const plain = await lazaretWith({ columns: 80, env: { ...env, NO_COLOR: '1' } }, 'dlq', 'list')
    expect(plain.out).toBe(
      [
        'ID                                    STATE  CHANNEL  HANDLER  ERROR',
        '019b7748-8500-88c4-a4b3-c3c762c95a73  dead   orders   bill     -',
        '019b7711-9680-8d36-8403-aa2738153149  dead   billing  bill     TypeError: no su…',
        '019b76da-a800-843a-a6be-62e440f660c4  dead   orders   bill     Error: connect E…',
        '',
      ].join('\n'),
    )
    const wide = await lazaretWith({ columns: 100, env: { ...env, NO_COLOR: '1' } }, 'dlq', 'list')
    expect(wide.out).toMatch(/HANDLER {2}FAILED {2}ERROR\n.* now .*\n.* 1h ago .*\n.* 2h ago /)
    const coloured = await lazaretWith({ columns: 80, env }, 'dlq', 'list')
    expect(coloured.out).toContain('\u001b[31mdead\u001b[0m')
    expect((await lazaretWith({ columns: 80, env: { ...env, TERM: 'dumb' } }, 'dlq', 'list')).out).toBe(
      plain.out,
    )
  })

  it('E9: sorts by a column, starts at a time, and names the flag that does not fit', async () => {
    const { lazaret } = await threeLetters()
    const types = async (...flags: string[]) =>
      (await lazaret('dlq', 'list', '--json', ...flags)).json.map(
        letter => (letter as { channel: string }).channel,
      )
    expect(await types('--sort', 'channel')).toEqual(['billing', 'orders', 'orders'])
    expect(await types('--sort', 'channel', '--order', 'desc')).toEqual(['orders', 'orders', 'billing'])
    expect(await types('--start-at', '2026-01-01T01:30:00Z')).toEqual(['billing', 'orders'])
    const wrong = await lazaret('dlq', 'list', '--sort', 'channel', '--start-at', '1h')
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('invalid --start-at') })
    expect((await lazaret('dlq', 'list', '--sort', 'chanel')).err).toContain("did you mean 'channel'")
  })

  it('F8: shows the handler or sink that gave up, also in JSON and on a narrow terminal', async () => {
    const { lazaret, lazaretWith, factory, bury } = cliWorld()
    await bury(factory.letter({ handler: 'loki', origin: {} }), factory.letter({ handler: 'charge' }))
    const env = { LAZARET_STORE: 'memory:' }
    const narrow = (await lazaretWith({ columns: 80, env }, 'dlq', 'list')).out
    for (const out of [(await lazaret('dlq', 'list')).out, narrow]) {
      expect(out).toMatch(/HANDLER/)
      expect(out).toMatch(/ loki .* charge /s)
    }
    const { json } = await lazaret('dlq', 'list', '--json')
    expect(json.map(({ handler }) => handler)).toEqual(['loki', 'charge'])
  })

  it.each([
    [['--channel', 'billing'], ['order.placed']],
    [['--type', 'cart.left'], ['cart.left']],
    [['--reason', 'attempts_exhausted'], ['order.placed']],
    [
      ['--category', 'transient'],
      ['cart.left', 'order.placed'],
    ],
    [
      ['--handler', 'bill', '--after', '90m'],
      ['cart.left', 'order.placed'],
    ],
    [['--before', '2026-01-01T01:00Z'], ['order.placed']],
    [['--search', 'econnREFUSED'], ['order.placed']],
    [['--state', 'parked'], []],
    [['--limit', '1'], ['cart.left']],
  ])('F8: %j selects %j', async (filter, expected) => {
    const { lazaret } = await threeLetters()
    const { code, json } = await lazaret('dlq', 'list', '--json', ...filter)
    expect(code).toBe(0)
    expect(json.map(letter => letter.event.type)).toEqual(expected)
  })

  it('F8: --json is one letter a line, times as ISO 8601, secrets masked', async () => {
    const { lazaret, audited } = await threeLetters()
    const { json, err } = await lazaret('dlq', 'list', '--json')
    expect(json).toHaveLength(3)
    expect(err).toBe('')
    expect(json[0]).toMatchObject({
      cycle: { reason: 'rate_limited', lastFailedAt: '2026-01-01T02:00:00.000Z' },
      event: { occurredAt: '2026-01-01T02:00:00.000Z', payload: { password: '***', amount: 7 } },
    })
    expect(json[1].cycle.failure.message).toBe('no such card ***')
    expect(await audited()).toEqual([])
  })

  it('F8: --reveal shows what masks hide, and is written down with who and what', async () => {
    const { lazaret, audited } = await threeLetters()
    const { json } = await lazaret('dlq', 'list', '--json', '--reveal', '--channel', 'orders', '--by', 'bob')
    expect(json[0].event.payload).toEqual({ password: 'hunter2', amount: 7 })
    expect(await audited()).toEqual([['payload.reveal', 'channel orders', 'bob']])
  })

  it('F8: --cursor goes on where the last listing ended, with the same filter only', async () => {
    const { lazaret } = await threeLetters()
    const first = await lazaret('dlq', 'list', '--limit', '2', '--json')
    const [, cursor = ''] = /^more results: repeat the command with --cursor (\S+)\n$/.exec(first.err) ?? []
    const second = await lazaret('dlq', 'list', '--limit', '2', '--json', '--cursor', cursor)
    expect([...first.json, ...second.json].map(({ id }) => id)).toHaveLength(3)
    expect(second.err).toBe('')
    const wrong = await lazaret('dlq', 'list', '--cursor', cursor, '--state', 'dead')
    expect(wrong.code).toBe(2)
    expect(wrong.err).toMatch(
      /^lazaret: dlq list: invalid --cursor ".*"; give the cursor of the previous page, with the same filter\n$/,
    )
  })

  it('F8: --limit all goes through every page', async () => {
    const { lazaret, store, factory } = cliWorld()
    for (let n = 0; n < 1_203; n++) await store.deadLetters.send(factory.letter())
    expect((await lazaret('dlq', 'list', '--limit', 'all', '--json')).json).toHaveLength(1_203)
    expect((await lazaret('dlq', 'list', '--limit', '700', '--json')).json).toHaveLength(700)
    expect((await lazaret('dlq', 'list', '--json')).json).toHaveLength(100)
  })

  it('F8: what a stranger put into an error cannot steer the terminal', async () => {
    const { lazaret, store, factory } = cliWorld()
    await store.deadLetters.send(
      factory.letter({ error: new Error('\u001b[2J\u001b]0;owned\u0007 \u202egnp.exe') }),
    )
    const { out } = await lazaret('dlq', 'list')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be there
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/)
    expect(out).toContain('\\u001b[2J')
  })

  it('F8: an empty result is reported, and is not a failure', async () => {
    const { lazaret } = cliWorld()
    expect(await lazaret('dlq', 'list')).toMatchObject({ code: 0, out: '', err: 'no dead letters\n' })
    expect((await lazaret('dlq', 'list', '--state', 'dead')).err).toBe('no dead letters match\n')
    expect((await lazaret('groups', 'list')).err).toBe('no groups\n')
  })
})
