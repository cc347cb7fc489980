import { describe, expect, it } from 'vitest'
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
      expect((await read('/findings')).findings[0].reasons).toEqual([{ reason: 'no queue for ***', count: 1 }])
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
