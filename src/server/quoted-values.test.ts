import { describe, expect, it } from 'vitest'
import { joinFailing, ONLY_ITS_OWN } from '../../test/support/failing-process.ts'
import { PEOPLE, secretOf, serverWorld } from '../../test/support/server-world.ts'
import { createMasks } from '../core/dead-letter/masks.ts'
import type { Replay, ReplayItem } from '../ports/replays.ts'
import { itemsOf, replayOf } from '../testing/conformance/store/replays.ts'

const VIEWER = { token: secretOf('vic') }
const masks = createMasks({ paths: ['payload.card'] })
const PAYLOAD = { card: 'X-4711-zebra', amount: 7 }

async function world(change: Partial<Replay> = {}, itemChange: Partial<ReplayItem> = {}) {
  const base = serverWorld({ tokens: PEOPLE, masks })
  const { make, bury, store, ask } = base
  const [letter] = await bury(make.letter({ event: make.event({ payload: PAYLOAD }) }))
  const item = { ...itemsOf(1)[0]!, letterId: letter!.id, ...itemChange }
  await store.replays.create(replayOf('r1', { state: 'running', count: 1, ...change }), [item])
  const read = async (path = '') => (await ask(`/api/v1/replays/r1${path}`, VIEWER)).body
  return { ...base, letter: letter!, read }
}

describe('a text about a replay', () => {
  const reason = 'the process p1 could not send the letters: card X-4711-zebra is refused'

  it.each(['waiting', 'sent'] as const)(
    'B18, P2: its problem hides what is masked in a letter that is %s',
    async status => {
      const { read } = await world({ problem: { reason, since: 1 } }, { status })
      expect((await read()).problem.reason).toBe(
        'the process p1 could not send the letters: card *** is refused',
      )
    },
  )

  it('B18, P2: its problem hides a masked value that the patch writes', async () => {
    const patch = [{ op: 'replace', path: '/card', value: 'Y-9999-tiger' }] as const
    const problem = { reason: 'it failed: Y-9999-tiger is refused', since: 1 }
    const { read } = await world({ problem, patch })
    expect((await read()).problem.reason).toBe('it failed: *** is refused')
  })

  it('B13, P2: its patch hides a masked value that another text of the patch repeats', async () => {
    const patch = [
      { op: 'replace', path: '/card', value: 'Y-9999-tiger' },
      { op: 'add', path: '/note', value: 'paid with Y-9999-tiger' },
    ] as const
    const { read } = await world({ patch })
    expect((await read()).patch.map(({ value }: { value: string }) => value)).toEqual([
      '***',
      'paid with ***',
    ])
  })

  it('B18, P2: the error that the server reports when no process delivers it hides what is masked', async () => {
    const { make, bury, store, clock, tell, errors } = serverWorld({ tokens: PEOPLE, masks })
    await bury(make.letter({ ...ONLY_ITS_OWN, event: make.event({ payload: PAYLOAD }) }))
    await joinFailing(store, clock, 'card X-4711-zebra is refused')
    const token = secretOf('ola')
    const { body } = await tell('/api/v1/replays', { filter: {}, reason: 'fixed' }, { token })
    await tell(`/api/v1/replays/${body.id}/start`, {}, { token })
    for (let step = 0; errors.length === 0 && step < 2_000; step++) await clock.advance(100)
    expect(errors.map(String)).toEqual([
      expect.stringMatching(
        /^ReplayUndeliveredError: .* could not send the letters: card \*\*\* is refused; /,
      ),
    ])
  })

  it('B18, P2: without the letter nobody knows what is masked, so the error of the problem is hidden', async () => {
    const { read, store, letter } = await world({ problem: { reason, since: 1 } })
    await store.deadLetters.delete(letter.id)
    expect((await read()).problem.reason).toBe('the process p1 could not send the letters: ***')
  })

  it.each(['skip_unreachable', 'skip_downstream', 'skip_schema'] as const)(
    'K8, P2: the reason of %s hides what is masked in its letter',
    async decision => {
      const skipped = { status: 'skipped', decision, reason: 'no queue for X-4711-zebra' } as const
      const { read } = await world({ findings: { [decision]: 1 } }, skipped)
      expect((await read('/items')).items[0].reason).toBe('no queue for ***')
      expect((await read('/findings')).findings[0].reasons).toEqual([
        { reason: 'no queue for ***', count: 1 },
      ])
    },
  )

  it('K8, P2: the reason why nobody answered for a gate hides what is masked in its letters', async () => {
    const answer = { answeredBy: 'nobody', reason: 'process p1 failed: got X-4711-zebra' } as const
    const { read } = await world({ checks: [{ gate: 'schema', channel: 'orders', letters: 1, answer }] })
    expect((await read()).checks[0].answer.reason).toBe('process p1 failed: got ***')
  })

  it('B17, P2: the error and the result of a command hide what is masked in its letters', async () => {
    const { store, letter, ask } = await world()
    const ended = async (id: string, task: object, outcome: object) => {
      const command = { v: 1, id, request: id, task, recipients: ['p1'], by: 'ann' } as const
      await store.commands!.send([command as never], 60_000)
      await store.commands!.claim('p1', 10)
      await store.commands!.finish(id, 'p1', outcome as never)
      return (await ask(`/api/v1/fleet/commands/${id}`, VIEWER)).body.commands[0]
    }
    const error = 'got X-4711-zebra'
    const resend = { kind: 'resend', sink: 'crm', letters: [letter.id] }
    expect((await ended('c1', resend, { ok: false, error })).error).toBe('got ***')
    const deliver = { kind: 'deliver', replay: 'r1', delivery: 'c2', positions: [0], perSecond: 1 }
    const result = { sent: 0, refused: [{ position: 0, reason: error }] }
    expect((await ended('c2', deliver, { ok: true, result })).result).toEqual({
      sent: 0,
      refused: [{ position: 0, reason: 'got ***' }],
    })
  })
})

describe('an error of a replay with an edited payload', () => {
  const patch = [
    { op: 'replace', path: '/card', value: 'Y-9999-tiger' },
    { op: 'add', path: '/note', value: 'seen by nobody' },
  ] as const
  const message = 'card Y-9999-tiger is refused: seen by nobody'
  const SHOWN = 'card *** is refused: seen by nobody'

  async function failedAgain() {
    const base = await world({ patch, state: 'finished' })
    const { make, store, letter, clock } = base
    await store.deadLetters.change(letter.id, { to: 'replaying', at: clock.now(), replayId: 'r1' })
    await clock.advance(1_000)
    const event = { ...letter.event, payload: { ...PAYLOAD, card: 'Y-9999-tiger' } }
    const again = make.letter({ event, replay: 1, replayId: 'r1', error: new Error(message) })
    await store.deadLetters.send(again)
    return base
  }

  it('B13, P2: hides what the edit wrote to a masked place, and keeps the rest', async () => {
    const { ask, letter } = await failedAgain()
    const { body, text } = await ask(`/api/v1/dead-letters/${letter.id}`, VIEWER)
    expect(body.event.payload).toEqual({ card: '***', amount: 7 })
    expect(body.failure.message).toBe(SHOWN)
    expect(body.grouping.title).toBe(`Error: ${SHOWN}`)
    expect(text).not.toContain('tiger')
  })

  it('B13, P2: hides it in lists, groups, exports and searches', async () => {
    const { ask, tell } = await failedAgain()
    for (const path of ['/api/v1/dead-letters', '/api/v1/groups', '/api/v1/replays/r1']) {
      const { text, status } = await ask(path, VIEWER)
      expect(status).toBe(200)
      expect(text).not.toContain('tiger')
    }
    expect((await ask('/api/v1/dead-letters?search=tiger', VIEWER)).body.letters).toEqual([])
    expect((await ask('/api/v1/dead-letters?search=nobody', VIEWER)).body.letters).toHaveLength(1)
    const asked = { token: secretOf('ola') }
    const { body } = await tell('/api/v1/dead-letters/export/preview', { filter: {} }, asked)
    const { count: expectedCount, until, digest } = body
    for (const format of ['csv', 'jsonl']) {
      const selection = { filter: {}, expectedCount, until, digest, format, reason: 'x' }
      const exported = await tell('/api/v1/dead-letters/export', selection, asked)
      expect(exported.body).toMatchObject({ exported: 1, text: expect.stringContaining(SHOWN) })
      expect(exported.text).not.toContain('tiger')
    }
  })
})
