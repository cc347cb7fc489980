import { describe, expect, it } from 'vitest'
import { cliWorld } from '../../../test/support/cli.ts'

const WHERE = 'payload.customer.id = 7'

async function world() {
  const base = cliWorld()
  const { factory } = base
  const letter = (id: number, reason: 'permanent' | 'poison', text: string) =>
    factory.letter({
      event: factory.event({ payload: { customer: { id }, password: 'hunter2' } }),
      reason,
      error: new Error(text),
    })
  await base.bury(
    letter(7, 'permanent', '@SUM(A1)'),
    letter(7, 'poison', 'a, "b"'),
    letter(8, 'permanent', 'other'),
  )
  const byState = async () => (await base.store.deadLetters.stats()).byState
  return { ...base, byState }
}

describe('actions on every letter that matches', () => {
  it('F8: filters by fields, release, error text and attempts have the words of the API', async () => {
    const { lazaret } = await world()
    const found = async (...flags: string[]) => (await lazaret('dlq', 'list', '--json', ...flags)).json.length
    expect(await found('--where', WHERE)).toBe(2)
    expect(await found('--where', `${WHERE} and payload.password != x`, '--error', '@sum')).toBe(1)
    expect(await found('--release', '9.9')).toBe(0)
    expect(await found('--min-attempts', '1', '--max-attempts', '99')).toBe(3)
    expect(await found('--min-attempts', '0')).toBe(3)
    expect(await found('--max-attempts', '0')).toBe(0)
    const refused = await lazaret('dlq', 'list', '--where', 'customer 7')
    expect(refused).toMatchObject({ code: 2 })
    expect(refused.err).toContain("such as 'payload.customer.id = 7")
  })

  it('F8: discard takes those that match, after a question, and records it once', async () => {
    const { lazaret, byState, store } = await world()
    const asked = await lazaret('dlq', 'discard', '--where', WHERE, '--preview', '--json')
    expect(asked.json).toMatchObject([{ count: 2, byState: { dead: 1, quarantined: 1 } }])
    expect((await lazaret('dlq', 'discard', '--where', WHERE, '--yes', '--note', 'test')).out).toBe(
      'discarded 2 dead letters\n',
    )
    expect(await byState()).toEqual({ discarded: 2, dead: 1 })
    expect((await store.audit.list()).entries).toMatchObject([
      { action: 'letters.discard', detail: { letters: 2, where: WHERE, note: 'test' } },
    ])
  })

  it('F8: discard without an ID and without a filter is refused, and so is both', async () => {
    const { lazaret, byState } = await world()
    for (const words of [[], ['some-id', '--channel', 'orders']])
      expect(await lazaret('dlq', 'discard', '--yes', ...words)).toMatchObject({ code: 2, out: '' })
    expect(await byState()).toEqual({ dead: 2, quarantined: 1 })
  })

  it('F8: release takes quarantined letters only', async () => {
    const { lazaret, byState } = await world()
    expect((await lazaret('dlq', 'release', '--yes')).out).toBe('released 1 dead letter\n')
    expect(await byState()).toEqual({ dead: 3 })
  })

  it('F8: assign needs an owner, and gives the groups to that person', async () => {
    const { lazaret, store } = await world()
    expect(await lazaret('dlq', 'assign', '--yes')).toMatchObject({ code: 2 })
    const done = await lazaret('dlq', 'assign', '--owner', 'ada', '--yes', '--json')
    expect(done.json).toEqual([{ changed: 3, of: 3 }])
    const { groups } = await store.groups.list()
    expect(groups.map(({ triage }) => triage.owner)).toEqual(groups.map(() => 'ada'))
  })

  it('F8: Ctrl-C ends a discard after the batch under way: done in part', async () => {
    const { lazaretWith, bury, factory, store } = cliWorld()
    await bury(...Array.from({ length: 250 }, () => factory.letter()))
    const stop = new AbortController()
    const { change } = store.deadLetters
    store.deadLetters.change = async (...args) => {
      stop.abort()
      return change.apply(store.deadLetters, args)
    }
    const env = { LAZARET_STORE: 'memory:' }
    const stopped = await lazaretWith(
      { interrupted: stop.signal, env },
      ...['dlq', 'discard', '--state', 'dead', '--yes'],
    )
    expect(stopped).toMatchObject({ code: 3, out: 'discarded 100 dead letters\n' })
    expect(stopped.err).toContain('interrupted: 100 of 250 letters were discarded')
  })

  it('F8: export as CSV is masked, and no text of it is a formula', async () => {
    const { lazaret } = await world()
    const { out } = await lazaret('dlq', 'export', '--format', 'csv', '--where', WHERE)
    expect(out.split('\r\n')).toHaveLength(4)
    expect(out).toContain(",'@SUM(A1),")
    expect(out).toContain(',"a, ""b""",')
    expect(out).not.toContain('hunter2')
  })

  it('F8: a terminal obeys no text of an export as CSV', async () => {
    const { lazaret, bury, factory } = cliWorld()
    await bury(factory.letter({ error: new Error('red \u001b[31m\u009b\u202e\nnext') }))
    const { out } = await lazaret('dlq', 'export', '--format', 'csv')
    expect(out).toContain('"red \\u001b[31m\\u009b\\u202e\nnext"')
  })
})
