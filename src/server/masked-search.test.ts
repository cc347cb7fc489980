import { describe, expect, it } from 'vitest'
import { PEOPLE, type Question, secretOf, serverWorld } from '../../test/support/server-world.ts'
import { memoryStore } from '../adapters/memory/store.ts'
import { createMasks } from '../core/dead-letter/masks.ts'
import { withExactNumbers } from '../core/event/exact-numbers.ts'
import type { StandardSchema } from '../ports/schema.ts'
import type { Store } from '../ports/store.ts'
import { FakeClock } from '../testing/fake-clock.ts'

const VIEWER = { token: secretOf('vic') }
const OPERATOR = { token: secretOf('ola') }
const PASSWORD = 'hunter2'
const CARD = 'kx-4711-q'
const HEADER = 'tok-9zq8'
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789-'
const masks = createMasks({ paths: ['payload.card.number', 'key'] })

async function world(options: Parameters<typeof serverWorld>[0] = {}) {
  const base = serverWorld({
    tokens: PEOPLE,
    masks,
    rateLimit: { perSecond: 1_000_000, burst: 1_000_000 },
    ...options,
  })
  const event = base.make.event({
    key: CARD,
    headers: { authorization: HEADER },
    payload: { password: PASSWORD, card: { number: CARD }, amount: 3 },
  })
  const error = new Error(`user ann: login with ${PASSWORD} and ${HEADER} refused for ${CARD}`)
  const plain = base.make.letter({ error: new Error('the stock is empty') })
  const metadata = { tenant: 'acme', apiKey: 'k-77', copied: `sent by ${PASSWORD}` }
  await base.bury(plain, base.make.letter({ event, error, metadata }))
  return base
}

type Probe = (guess: string) => Promise<unknown>

/** Extends what is known of a secret as long as one character answers otherwise than the rest. */
async function recover(probe: Probe): Promise<string> {
  let known = ''
  for (let length = 0; length < 12; length++) {
    const answers = new Map<string, string[]>()
    for (const character of ALPHABET) {
      const answer = JSON.stringify(await probe(known + character))
      answers.set(answer, [...(answers.get(answer) ?? []), character])
    }
    const odd = [...answers.values()].sort((a, b) => a.length - b.length)[0]!
    if (answers.size === 1) return known
    known += odd[0]!
  }
  return known
}

describe('a viewer who searches for what is masked', () => {
  const pages: [string, string][] = [
    ['letters', '/api/v1/dead-letters?search='],
    ['a page of one letter', '/api/v1/dead-letters?limit=1&search='],
    ['stats', '/api/v1/dead-letters/stats?search='],
    ['groups', '/api/v1/groups?search='],
    ['groups, by rate', '/api/v1/groups?sort=rate&limit=1&search='],
  ]
  const secrets: [string, string][] = [
    ['the payload', 'login with '],
    ['a header', 'hunter2 and '],
    ['the key', 'refused for '],
    ['a payload in metadata', 'sent by '],
    ['metadata with a masked name', 'k-'],
  ]
  it('P2: conditions do not look behind the mask of a payload that is kept as bytes because of its numbers', async () => {
    const { ask, bury, make } = await world()
    const content = new TextEncoder().encode(`{"password":"${PASSWORD}","id":98765432109876543210}`)
    await bury(make.letter({ event: withExactNumbers(make.event({ payload: {} }), content) }))
    const found = async (where: string) => {
      const path = `/api/v1/dead-letters?where=${encodeURIComponent(where)}`
      return (await ask(path, VIEWER)).body.letters.length
    }
    expect(await found('payload.password ~ hunter')).toBe(0)
    expect(await found('payload.id = 98765432109876543210 and payload.password = ***')).toBe(1)
  })

  for (const [where, path] of pages)
    for (const [what, before] of secrets)
      it(`P2: learns nothing of ${what} from ${where}`, async () => {
        const { ask } = await world()
        const look = async (guess: string) => {
          const { status, body } = await ask(path + encodeURIComponent(before + guess), VIEWER)
          expect(status).toBe(200)
          return body
        }
        expect(await recover(look)).toBe('')
      })

  const fields: [string, string][] = [
    ['the text of the error', 'error=login with '],
    ['a masked field that contains it', 'where=payload.password ~ '],
    ['a field that is masked by its path', 'where=payload.card.number ~ '],
    ['a masked header', 'where=header.authorization ~ '],
    ['a masked field of metadata', 'where=metadata.apiKey ~ '],
    ['a masked field that is not equal', 'where=payload.amount = 3 and payload.password != '],
  ]
  for (const path of [
    '/api/v1/dead-letters?',
    '/api/v1/dead-letters?limit=1&',
    '/api/v1/dead-letters/stats?',
  ])
    for (const [what, before] of fields)
      it(`P2: learns nothing by ${what} from ${path}`, async () => {
        const { ask } = await world()
        const [name, text] = [before.slice(0, before.indexOf('=')), before.slice(before.indexOf('=') + 1)]
        const look = async (guess: string) => {
          const { status, body } = await ask(`${path}${name}=${encodeURIComponent(text + guess)}`, VIEWER)
          expect(status).toBe(200)
          // A cursor is marked with its filter, so it differs for every guess.
          return { ...body, cursor: body.cursor !== undefined }
        }
        expect(await recover(look)).toBe('')
      })

  it('P2: filters by fields that are shown, and by the mask itself', async () => {
    const { ask, audited } = await world()
    const found = async (where: string) =>
      (await ask(`/api/v1/dead-letters?where=${encodeURIComponent(where)}`, VIEWER)).body.letters
    expect(await found('payload.amount = 3 and metadata.tenant = acme')).toHaveLength(1)
    expect(await found('payload.password = *** and header.authorization = ***')).toHaveLength(1)
    expect(await found(`payload.password = ${PASSWORD}`)).toEqual([])
    expect(await audited()).toEqual([])
  })

  it('P2: learns nothing of a key that is masked by its path', async () => {
    const { ask } = await world()
    const look = async (guess: string) => (await ask(`/api/v1/dead-letters?search=${guess}`, VIEWER)).body
    const [own, other] = [await look(CARD), await look('qqqqqqqq')]
    expect(own).toEqual(other)
    expect((await look('stock')).letters).toHaveLength(1)
  })

  it('P2: finds what is shown, in the masked form of the same letter too', async () => {
    const { ask } = await world()
    const found = async (search: string) =>
      (await ask(`/api/v1/dead-letters?search=${encodeURIComponent(search)}`, VIEWER)).body.letters
    const [letter] = await found('LOGIN with ***')
    expect(letter.failure.message).toBe('user ann: login with *** and *** refused for ***')
    expect(letter.key).toBe('***')
    expect(await found('user ann')).toHaveLength(1)
    // R15: metadata are searched and shown as masked as the rest.
    expect(await found('ACME')).toHaveLength(1)
    const { body } = await ask(`/api/v1/dead-letters/${letter.id}`, VIEWER)
    expect(body.metadata).toEqual({ tenant: 'acme', apiKey: '***', copied: 'sent by ***' })
    expect(await found(letter.eventId)).toHaveLength(1)
    const groups = (await ask('/api/v1/groups?search=user%20ann', VIEWER)).body.groups
    expect(groups).toHaveLength(1)
    expect(groups[0].title).toBe('Error: user ann: login with *** and *** refused for ***')
  })

  it('P2: sees the secret on no page', async () => {
    const { ask } = await world()
    const [letter] = (await ask('/api/v1/dead-letters', VIEWER)).body.letters
    const paths = [
      '/api/v1/dead-letters',
      `/api/v1/dead-letters/${letter.id}`,
      '/api/v1/groups',
      `/api/v1/groups/${letter.group}`,
      '/api/v1/overview',
      '/api/v1/channels',
      '/api/v1/audit',
      '/metrics',
    ]
    for (const path of paths) {
      const { status, text } = await ask(path, VIEWER)
      expect(status).toBe(200)
      expect(text, path).not.toMatch(/hunter|kx-|4711|tok-|9zq8|k-77/)
    }
  })

  it('P2: pages through more letters than one request looks at, in two stores, and misses none', async () => {
    const clock = new FakeClock()
    const stores = { one: memoryStore({ clock }), two: memoryStore({ clock }) }
    const { ask, make } = serverWorld({ tokens: PEOPLE, masks, stores, clock })
    const send = async (store: Store, index: number, isWanted: boolean) => {
      const letter = make.letter({ error: new Error(isWanted ? 'the wanted one' : 'another one') })
      const at = letter.cycle.lastFailedAt + index
      await store.deadLetters.send({ ...letter, cycle: { ...letter.cycle, lastFailedAt: at } })
    }
    for (let index = 0; index < 2_100; index++) await send(stores.one, index, index % 600 === 0)
    for (let index = 0; index < 30; index++) await send(stores.two, index * 100, index % 10 === 0)
    const stats = (await ask('/api/v1/dead-letters/stats?search=wanted', VIEWER)).body
    expect(stats).toMatchObject({ count: 6, atLeast: true })
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const path = `/api/v1/dead-letters?limit=2&search=wanted${cursor === undefined ? '' : `&cursor=${cursor}`}`
      const { status, body } = await ask(path, VIEWER)
      expect(status).toBe(200)
      expect(body.letters.length).toBeLessThanOrEqual(2)
      seen.push(...body.letters.map((letter: { lastFailedAt: string }) => letter.lastFailedAt))
      cursor = body.cursor
    } while (cursor !== undefined)
    expect(seen).toHaveLength(7)
    expect(seen).toEqual(seen.toSorted().toReversed())
    const forged = await ask('/api/v1/dead-letters?search=wanted&cursor=nonsense', VIEWER)
    expect(forged.status).toBe(400)
  })

  it('P2, B13: learns nothing from the test operation of a plan', async () => {
    const { ask, tell, bury, make } = await world()
    // A plan that sends nothing is not stored, so each guess is right for one of the two letters.
    const [other, letter] = await bury(
      make.letter({ event: make.event({ payload: { password: 'other' } }), origin: { broker: 'memory' } }),
    )
    const patch = (value: string) => [{ op: 'test', path: '/password', value }]
    const asked = (value: string) => ({ ids: [letter!.id, other!.id], reason: 'x', patch: patch(value) })
    for (const path of ['/api/v1/replays', '/api/v1/replays/preview'])
      expect((await tell(path, asked(PASSWORD), VIEWER)).status).toBe(403)
    const answers = []
    for (const value of [PASSWORD, 'other']) {
      const { body } = await tell('/api/v1/replays', asked(value), OPERATOR)
      const items = await ask(`/api/v1/replays/${body.id}/items`, VIEWER)
      const shown = await ask(`/api/v1/replays/${body.id}`, VIEWER)
      expect(items.text + shown.text).not.toContain(PASSWORD)
      answers.push(shown.body.patch)
    }
    expect(answers[0]).toEqual(answers[1])
    const { body } = await ask('/api/v1/audit?action=payload.test', VIEWER)
    expect(body.entries).toMatchObject([
      { by: 'ola', detail: { paths: ['/password'] } },
      { by: 'ola', detail: { paths: ['/password'] } },
    ])
  })

  it('P2: what a schema says of a header or key is masked too', async () => {
    const schema = {
      '~standard': { version: 1, vendor: 'test', validate: () => ({ issues: [{ message: `bad ${CARD}` }] }) },
    } as StandardSchema
    const { ask } = await world({ schemas: { orders: schema } })
    const [letter] = (await ask('/api/v1/dead-letters', VIEWER)).body.letters
    const { body } = await ask(`/api/v1/dead-letters/${letter.id}`, VIEWER)
    expect(body.destination.obstacle).toBe('bad ***')
  })
})

describe('a search with the right to reveal', () => {
  const search = (text: string, question: Question) => ({
    path: `/api/v1/dead-letters?search=${encodeURIComponent(text)}`,
    question,
  })

  it('P2: finds what is masked, and is in the audit once, however often it is repeated', async () => {
    const { ask } = await world()
    const { path, question } = search(PASSWORD, OPERATOR)
    for (let round = 0; round < 5; round++) expect((await ask(path, question)).body.letters).toHaveLength(1)
    await ask(`/api/v1/groups?search=${PASSWORD}`, OPERATOR)
    const { entries } = (await ask('/api/v1/audit', OPERATOR)).body
    expect(entries).toMatchObject([
      { by: 'ola', action: 'groups.search', detail: { search: PASSWORD } },
      { by: 'ola', action: 'letters.search', detail: { search: PASSWORD } },
    ])
    const seen = (await ask('/api/v1/audit', VIEWER)).body.entries
    expect(seen[0].detail).toEqual({ search: '***' })
  })

  it('P2: a filter by a masked field finds it, is in the audit, and is hidden from others', async () => {
    const { ask, tell } = await world()
    const where = `payload.password = ${PASSWORD}`
    const path = `/api/v1/dead-letters?where=${encodeURIComponent(where)}&error=refused`
    expect((await ask(path, OPERATOR)).body.letters).toHaveLength(1)
    await tell('/api/v1/replays', { filter: { where }, reason: 'x' }, OPERATOR)
    const searches = '/api/v1/audit?action=letters.search'
    expect((await ask(searches, OPERATOR)).body.entries).toMatchObject([
      { detail: { where } },
      { detail: { where, error: 'refused' } },
    ])
    const seen = await ask(searches, VIEWER)
    expect(seen.body.entries[1].detail).toEqual({ where: '***', error: '***' })
    const replays = await ask('/api/v1/replays', VIEWER)
    const replay = await ask(`/api/v1/replays/${replays.body.replays[0].id}`, VIEWER)
    expect(replay.body.selectedBy.filter).toEqual({ where: '***' })
    for (const { text } of [seen, replays, replay]) expect(text).not.toContain(PASSWORD)
  })

  it.each([
    [
      'a bulk action',
      '/api/v1/dead-letters/export',
      409,
      { until: '2100-01-01T00:00:00Z', digest: 'x', expectedCount: 999, format: 'csv' },
    ],
    ['a plan', '/api/v1/replays', 422, {}],
  ])('P2: %s that is refused has disclosed its count, and is in the audit', async (_, path, status, more) => {
    const { ask, tell } = await world()
    const filter = { search: PASSWORD, state: 'resolved' }
    expect((await tell(path, { filter, reason: 'x', ...more }, OPERATOR)).status).toBe(status)
    const searches = await ask('/api/v1/audit?action=letters.search', OPERATOR)
    expect(searches.body.entries).toMatchObject([{ by: 'ola', detail: { search: PASSWORD } }])
  })

  it('P2: what a replay was selected by is shown to those who may reveal it', async () => {
    const { ask, tell } = await world()
    const asked = { filter: { search: PASSWORD }, reason: 'x' }
    const { body } = await tell('/api/v1/replays', asked, OPERATOR)
    expect(body.selectedBy.filter.search).toBe(PASSWORD)
    const seen = await ask(`/api/v1/replays/${body.id}`, VIEWER)
    expect(seen.body.selectedBy.filter).toEqual({ search: '***' })
    expect(seen.text).not.toContain(PASSWORD)
  })

  it('P2: what a purge was searched by is in no target, and is shown to those who may reveal it', async () => {
    const { ask, tell } = await world()
    const admin = { token: secretOf('ada') }
    const filter = { search: PASSWORD, state: 'dead' }
    const { until, digest } = (await tell('/api/v1/dead-letters/purge/preview', { filter }, admin)).body
    const searched = (await ask('/api/v1/audit?action=letters.search', OPERATOR)).body.entries
    expect(searched).toMatchObject([{ by: 'ada', detail: { search: PASSWORD } }])
    const purge = { filter, expectedCount: 1, until, digest, reason: 'x' }
    expect((await tell('/api/v1/dead-letters/purge', purge, admin)).status).toBe(200)
    const path = '/api/v1/audit?action=letters.purge'
    const [shown] = (await ask(path, OPERATOR)).body.entries
    expect(shown).toMatchObject({ target: 'state dead, by a search', detail: { search: PASSWORD } })
    const seen = await ask(path, VIEWER)
    expect(seen.body.entries[0].detail).toMatchObject({ search: '***', letters: 1 })
    expect(seen.text).not.toContain(PASSWORD)
  })

  it('P2: a search in a target that an earlier version wrote is not shown, nor found by its text', async () => {
    const { ask, store, clock } = await world()
    for (const [action, target] of [
      ['letters.purge', `expired, state dead, search ${PASSWORD}`],
      ['letters.purge.partial', `search ${PASSWORD}, channel a`],
      ['letters.export', `search ${PASSWORD}`],
      ['payload.reveal', `channel a, search ${PASSWORD}`],
    ] as const)
      await store.audit.append({ at: clock.now(), by: 'ola', action, target })
    const seen = await ask('/api/v1/audit', VIEWER)
    expect(seen.text).not.toContain(PASSWORD)
    expect(seen.body.entries.map(({ target }: { target: string }) => target)).toEqual([
      'channel a, search ***',
      'search ***',
      'search ***',
      'expired, state dead, search ***',
    ])
    const target = encodeURIComponent(`search ${PASSWORD}`)
    expect((await ask(`/api/v1/audit?target=${target}`, VIEWER)).body.entries).toEqual([])
    expect((await ask(`/api/v1/audit?target=${target}`, OPERATOR)).body.entries).toHaveLength(1)
  })

  it('P2: with masks that hide nothing everyone searches the store, and nothing is audited', async () => {
    const { ask, audited } = await world({ masks: createMasks({ defaults: false }) })
    const { path, question } = search(PASSWORD, VIEWER)
    expect((await ask(path, question)).body.letters).toHaveLength(1)
    expect(await audited()).toEqual([])
  })
})
