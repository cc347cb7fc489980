import { describe, expect, it } from 'vitest'
import { PEOPLE, secretOf, serverWorld } from '../../test/support/server-world.ts'
import { createMasks } from '../core/dead-letter/masks.ts'
import type { StandardSchema } from '../ports/schema.ts'

const PAYLOAD = {
  password: 'hunter2',
  pin: 7,
  credentials: { user: 'ann', keys: ['k-11', 'k-22'] },
  card: { number: 'X-4711', brand: 'Ann' },
  amount: '7',
  rows: [{ code: 'C-1' }],
}
const masks = createMasks({ paths: ['payload.card.number', 'payload.rows[*].code'] })
const VIEWER = { token: secretOf('vic') }
const OPERATOR = { token: secretOf('ola') }

/** It refuses everything and says what it was given, as many schemas do. */
const tellingSchema = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate(value: unknown) {
      const { password, card, pin } = value as typeof PAYLOAD
      const message = `"${password}" is too short, ${card?.number} is no card, ${pin} of 17, mail ann@example.org`
      return { issues: [{ message }] }
    },
  },
} as StandardSchema
const HIDDEN_MESSAGE = '"***" is too short, *** is no card, *** of 17, mail ***'

async function world(options: Parameters<typeof serverWorld>[0] = {}) {
  const base = serverWorld({ tokens: PEOPLE, masks, ...options })
  const [letter] = await base.bury(base.make.letter({ event: base.make.event({ payload: PAYLOAD }) }))
  const look = async (...patch: unknown[]) => {
    const { body } = await base.tell('/api/v1/replays/preview', { ids: [letter!.id], patch }, OPERATOR)
    return body.samples[0]
  }
  const plan = async (...patch: unknown[]) =>
    (await base.tell('/api/v1/replays', { ids: [letter!.id], reason: 'x', patch }, OPERATOR)).body
  return { ...base, id: letter!.id, look, plan }
}

describe('a preview', () => {
  it.each([
    ['copied', [{ op: 'copy', from: '/password', path: '/x' }]],
    ['moved', [{ op: 'move', from: '/password', path: '/x' }]],
    ['copied from a masked path', [{ op: 'copy', from: '/card/number', path: '/x' }]],
    ['copied from inside', [{ op: 'copy', from: '/credentials/keys/1', path: '/x' }]],
    [
      'moved from inside',
      [
        { op: 'add', path: '/credentials/y', value: 1 },
        { op: 'move', from: '/credentials/keys', path: '/x' },
      ],
    ],
    ['a number', [{ op: 'copy', from: '/pin', path: '/x' }]],
    [
      'carried twice',
      [
        { op: 'copy', from: '/credentials', path: '/y' },
        { op: 'move', from: '/y', path: '/x' },
      ],
    ],
  ])('B13, P2: keeps masked what is masked where it comes from: %s', async (_, patch) => {
    const { look, audited } = await world()
    const { after, fault } = await look(...patch)
    expect(fault).toBeUndefined()
    expect(after.x).toBe('***')
    expect(JSON.stringify(after)).not.toMatch(/hunter2|X-4711|k-\d|"ann"/)
    expect(await audited()).toEqual([])
  })

  it('B13: hides nothing else, not even what looks the same as a masked value', async () => {
    const { look } = await world()
    const patch = [
      { op: 'add', path: '/guess', value: 'hunter2' },
      { op: 'replace', path: '/credentials/user', value: 'bob' },
      { op: 'copy', from: '/card/brand', path: '/brand' },
      { op: 'test', path: '/amount', value: '7' },
      { op: 'move', from: '/amount', path: '/credentials/amount' },
    ]
    const { before, after, fault } = await look(...patch)
    expect(fault).toBeUndefined()
    const { amount: _, ...rest } = before
    expect(after).toEqual({ ...rest, guess: 'hunter2', brand: 'Ann' })
  })

  it('B13, P2: the whole put into itself stays masked by path in its new place', async () => {
    const { look } = await world()
    const { after } = await look({ op: 'copy', from: '', path: '/all' })
    expect(after.all.card).toEqual({ number: '***', brand: 'Ann' })
  })

  it.each([
    ['itself', []],
    ['a copy', [{ op: 'copy', from: '/password', path: '/x' }]],
  ])('B13, P2: does not answer whether a masked value is a certain one: %s', async (_, before) => {
    const { look } = await world()
    const path = before.length === 0 ? '/password' : '/x'
    const answers = await Promise.all(
      ['hunter2', 'other'].map(async value => {
        const { after, fault } = await look(
          ...before,
          { op: 'test', path, value },
          { op: 'remove', path: '/no' },
        )
        return { after, fault }
      }),
    )
    expect(answers[0]).toEqual(answers[1])
    expect(answers[0]!.after).toBeUndefined()
    expect(answers[0]!.fault).toContain('a preview does not test masked values')
  })

  it('B13, P2: nor whether a text that is masked by its looks is', async () => {
    const { bury, make, tell } = serverWorld()
    const [letter] = await bury(make.letter({ event: make.event({ payload: { mail: 'ann@example.org' } }) }))
    const patch = [{ op: 'test', path: '/mail', value: 'ann@example.org' }]
    const { body } = await tell('/api/v1/replays/preview', { ids: [letter!.id], patch })
    expect(body.samples[0].fault).toContain('a preview does not test masked values')
  })

  it('B13: says which operation does not fit', async () => {
    const { look } = await world()
    const { after, fault } = await look(
      { op: 'add', path: '/a', value: 1 },
      { op: 'replace', path: '/credentials/nothing', value: 1 },
    )
    expect(after).toBeUndefined()
    expect(fault).toBe('patch operation 2 (replace /credentials/nothing): path not found')
  })
})

describe('what a patch writes', () => {
  it.each([
    ['/password', 'new-secret', '***'],
    ['/card/number', 'new-secret', '***'],
    ['/card', { number: 'new-secret', brand: 'Bob' }, { number: '***', brand: 'Bob' }],
    ['/rows/0/code', 'new-secret', '***'],
    ['/rows/-', { code: 'new-secret', n: 1 }, { code: '***', n: 1 }],
    ['', { password: 'new-secret', n: 1 }, { password: '***', n: 1 }],
    ['/credentials/keys/0', 'new-secret', '***'],
    ['/password', null, null],
    ['/amount', 7, 7],
  ])('B13, P2: is masked as it will be at %s', async (path, value, shown) => {
    const { plan, ask } = await world()
    const { id } = await plan({ op: 'add', path, value })
    const { body, text } = await ask(`/api/v1/replays/${id}`, VIEWER)
    expect(body.patch).toEqual([{ op: 'add', path, value: shown }])
    expect(text, 'nor is it in the command').not.toContain('new-secret')
  })
})

describe('what a schema says', () => {
  const schemas = { orders: tellingSchema }

  it('P2: is masked where a letter tells what keeps it from being sent', async () => {
    const { ask, id } = await world({ schemas })
    const { body } = await ask(`/api/v1/dead-letters/${id}`, VIEWER)
    expect(body.destination.obstacle).toBe(HIDDEN_MESSAGE)
  })

  it('B13, P2: is masked in a preview', async () => {
    const { look } = await world({ schemas })
    expect((await look({ op: 'add', path: '/a', value: 1 })).fault).toBe(HIDDEN_MESSAGE)
  })

  it('K8, P2: is masked in the items and findings of a replay, whether a letter or its patch had it', async () => {
    const { bury, make, tell, ask, id } = await world({ schemas })
    // Of a channel without a schema: without a letter that can be sent there would be no plan.
    const [fine] = await bury(
      make.letter({ channel: 'mails', event: make.event({ channel: 'mails', payload: PAYLOAD }) }),
    )
    const patch = [{ op: 'replace', path: '/password', value: 'brand new' }]
    const replay = (await tell('/api/v1/replays', { ids: [id, fine!.id], reason: 'x', patch }, OPERATOR)).body
    const items = (await ask(`/api/v1/replays/${replay.id}/items?status=skipped`, VIEWER)).body.items
    expect(items).toMatchObject([{ letterId: id, decision: 'skip_schema', reason: HIDDEN_MESSAGE }])
    const { findings } = (await ask(`/api/v1/replays/${replay.id}/findings`, VIEWER)).body
    const [ofSchema] = findings.filter(({ decision }: { decision: string }) => decision === 'skip_schema')
    expect(ofSchema).toMatchObject({ reasons: [{ reason: HIDDEN_MESSAGE, count: 1 }] })
  })

  it('B10, P2: is masked in the refusal of a plan that could send nothing', async () => {
    const { tell, id, store } = await world({ schemas })
    const patch = [{ op: 'replace', path: '/password', value: 'brand new' }]
    const { status, body, text } = await tell('/api/v1/replays', { ids: [id], reason: 'x', patch }, OPERATOR)
    expect(status).toBe(422)
    expect(body.detail).toBe(
      `The letter cannot be sent; nothing was planned: 1 with a payload that the schema refuses or nobody checked. 1 × ${HIDDEN_MESSAGE}.`,
    )
    for (const secret of ['brand new', 'X-4711', 'ann@example.org']) expect(text).not.toContain(secret)
    expect(await store.replays.list()).toEqual([])
  })

  it('K8: letters of which the same is said once it is masked are counted together', async () => {
    const { bury, make, tell, ask } = serverWorld({ schemas, masks })
    const events = ['hunter1', 'hunter2'].map(password => make.event({ payload: { ...PAYLOAD, password } }))
    await bury(...events.map(event => make.letter({ event })))
    const { detail } = (await tell('/api/v1/replays', { filter: {}, reason: 'x' })).body
    expect(detail).toContain(` 2 × ${HIDDEN_MESSAGE}.`)
    await bury(make.letter({ channel: 'mails', event: make.event({ channel: 'mails' }) }))
    const { id } = (await tell('/api/v1/replays', { filter: {}, reason: 'x' })).body
    const { findings } = (await ask(`/api/v1/replays/${id}/findings`)).body
    const reasons = findings.flatMap((finding: { reasons: unknown[] }) => finding.reasons)
    expect(reasons).toEqual([{ reason: HIDDEN_MESSAGE, count: 2 }])
  })
})
