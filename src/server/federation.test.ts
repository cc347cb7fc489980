import { describe, expect, it } from 'vitest'
import { serverWorld } from '../../test/support/server-world.ts'
import { memoryStore } from '../adapters/memory/store.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { Store } from '../ports/store.ts'
import { createFactory } from '../testing/factories.ts'
import { FakeClock } from '../testing/fake-clock.ts'

function twoStores() {
  const clock = new FakeClock()
  const make = createFactory({ clock })
  const stores = { shop: memoryStore({ clock }), office: memoryStore({ clock }) }
  const bury = async (name: keyof typeof stores, channel: string) => {
    await clock.advance(1_000)
    const at = clock.now()
    const origin = { broker: 'memory' }
    const letter = make.letter({ channel, at, origin, attempts: [make.attempt(1)] })
    await stores[name].deadLetters.send(letter)
    return letter
  }
  return { ...serverWorld({ stores, clock }), clock, stores, bury }
}

/** A store none of whose parts answers. */
function broken(store: Store): Store {
  const refuse = () => Promise.reject(new Error('connection to postgres://user:secret@db refused'))
  const dead = new Proxy({}, { get: () => refuse })
  return { ...store, deadLetters: dead, groups: dead, replays: dead, audit: dead, snapshots: dead } as Store
}

describe('several stores at once', () => {
  it('F8: letters are one list, in one order, with one cursor', async () => {
    const world = twoStores()
    const letters: DeadLetter[] = []
    for (let index = 0; index < 7; index++)
      letters.push(await world.bury(index % 3 === 0 ? 'office' : 'shop', `channel-${index}`))
    const seen: { id: string; store: string }[] = []
    let cursor = ''
    do {
      const { body } = await world.ask(`/api/v1/dead-letters?limit=2${cursor}`)
      seen.push(...body.letters)
      cursor = body.cursor === undefined ? '' : `&cursor=${body.cursor}`
    } while (cursor !== '')
    expect(seen.map(({ id }) => id)).toEqual(letters.map(({ id }) => id).reverse())
    expect(seen.map(({ store }) => store)).toEqual([
      'office',
      'shop',
      'shop',
      'office',
      'shop',
      'shop',
      'office',
    ])
    expect((await world.ask('/api/v1/dead-letters?store=office')).body.letters).toHaveLength(3)
    expect((await world.ask('/api/v1/dead-letters?store=cellar')).status).toBe(404)
    expect((await world.ask('/api/v1/dead-letters/stats')).body.count).toBe(7)
  })

  it('F8: an id is found wherever it is, and what is done is done and audited there', async () => {
    const { ask, tell, bury, stores } = twoStores()
    await bury('shop', 'orders')
    const letter = await bury('office', 'mails')
    expect((await ask(`/api/v1/dead-letters/${letter.id}`)).body).toMatchObject({ store: 'office' })
    await tell(`/api/v1/dead-letters/${letter.id}/discard`, { reason: 'x' })
    expect((await stores.office.audit.list()).entries).toHaveLength(1)
    expect((await stores.shop.audit.list()).entries).toHaveLength(0)
    const group = letter.cycle.failure!.fingerprint.id
    expect((await ask('/api/v1/groups')).body.groups).toHaveLength(2)
    expect((await ask(`/api/v1/groups/${group}?store=office`)).body.store).toBe('office')
  })

  it('F8: groups by rate are listed once each, whatever the rates do between two pages', async () => {
    const { ask, clock, stores } = twoStores()
    const make = createFactory({ clock })
    const fail = async (store: keyof typeof stores, name: string, times: number) => {
      for (let count = 0; count < times; count++) {
        const error = Object.assign(new Error(name), { name })
        await stores[store].deadLetters.send(
          make.letter({ at: clock.now(), error, attempts: [make.attempt(1)] }),
        )
      }
    }
    await fail('shop', 'Often', 5)
    await fail('office', 'Sometimes', 4)
    await fail('shop', 'Seldom', 3)
    await fail('office', 'Once', 1)
    const seen: string[] = []
    let cursor = ''
    do {
      const { body } = await ask(`/api/v1/groups?sort=rate&limit=1${cursor}`)
      seen.push(...body.groups.map((each: { title: string }) => each.title.split(':')[0]!))
      cursor = body.cursor === undefined ? '' : `&cursor=${encodeURIComponent(body.cursor)}`
      // The rate of the last one rises above all that were shown, and is counted again.
      if (seen.length === 1) await fail('office', 'Once', 9)
      await clock.advance(3_000)
    } while (cursor !== '')
    expect(seen).toEqual(['Often', 'Sometimes', 'Seldom', 'Once'])
  })

  it('F8: the audit of all is one list, page by page', async () => {
    const { ask, tell, bury } = twoStores()
    const letters: DeadLetter[] = []
    for (let index = 0; index < 6; index++) letters.push(await bury(index < 4 ? 'shop' : 'office', 'orders'))
    for (const { id } of [letters[0]!, letters[4]!, letters[1]!, letters[2]!, letters[5]!, letters[3]!]) {
      await bury('shop', 'later')
      await tell(`/api/v1/dead-letters/${id}/discard`, { reason: 'x' })
    }
    const targets: string[] = []
    let cursor = ''
    do {
      const { body } = await ask(`/api/v1/audit?limit=2${cursor}`)
      targets.push(...body.entries.map((each: { target: string }) => each.target))
      cursor = body.cursor === undefined ? '' : `&cursor=${body.cursor}`
    } while (cursor !== '')
    expect(targets).toEqual([3, 5, 2, 1, 4, 0].map(index => letters[index]!.id))
  })

  it.each([1, 7, 100])('F8: the audit reaches every entry exactly once, %i at a time', async limit => {
    const { ask, stores, clock } = twoStores()
    const append = (name: keyof typeof stores, target: string, at: number) =>
      stores[name].audit.append({ at, by: 'x', action: 'y', target })
    const expected: string[] = []
    for (let index = 0; index < 700; index++) {
      // Now and then a clock is set back, and at times one store has more to say than the other.
      const at = clock.now() + (index % 10 === 0 ? index - 20 : index)
      for (const name of index % 50 < 10 ? (['shop'] as const) : (['shop', 'office'] as const)) {
        await append(name, `${name}-${index}`, at)
        expected.push(`${name}-${index}`)
      }
    }
    const targets: string[] = []
    let cursor = ''
    do {
      const { status, body } = await ask(`/api/v1/audit?limit=${limit}${cursor}`)
      expect(status).toBe(200)
      targets.push(...body.entries.map((each: { target: string }) => each.target))
      cursor = body.cursor === undefined ? '' : `&cursor=${body.cursor}`
      await clock.advance(20)
      // What is done meanwhile moves nothing that was there.
      if (targets.length < 20) await append('office', 'meanwhile', clock.now() + 1_000)
    } while (cursor !== '')
    expect(targets.filter(target => target !== 'meanwhile').sort()).toEqual(expected.sort())
  })

  it('B10: a filter plans in one store, which has to be named; ids find theirs', async () => {
    const { tell, bury } = twoStores()
    const [one, other] = [await bury('shop', 'orders'), await bury('office', 'orders')]
    const plan = { filter: { channel: 'orders' }, reason: 'x' }
    const unnamed = await tell('/api/v1/replays', plan)
    expect([unnamed.status, unnamed.body.detail]).toEqual([
      422,
      'A filter needs one store. Set store to one of: shop, office.',
    ])
    expect((await tell('/api/v1/replays', { ...plan, store: 'office' })).body).toMatchObject({
      store: 'office',
    })
    expect((await tell('/api/v1/replays', { ids: [other.id], reason: 'x' })).body.store).toBe('office')
    expect((await tell('/api/v1/replays', { ids: [one.id, other.id], reason: 'x' })).status).toBe(422)
  })
})

describe('a store that is down', () => {
  it('F8: is told of and does not keep the others from answering', async () => {
    const { clock, stores, bury, make } = twoStores()
    const letter = await bury('shop', 'orders')
    const { ask } = serverWorld({ stores: { shop: stores.shop, office: broken(stores.office) }, clock })
    for (const path of [
      'dead-letters',
      'dead-letters/stats',
      'groups',
      'replays',
      'audit',
      'channels',
      'overview',
    ]) {
      const { status, headers, body } = await ask(`/api/v1/${path}`)
      expect(status, path).toBe(200)
      expect(headers.get('x-lazaret-partial'), path).toBe('office')
      expect(body.faults, path).toEqual([
        { store: 'office', problem: 'connection to postgres://***@db refused' },
      ])
    }
    expect((await ask('/api/v1/overview')).body.stores).toMatchObject([
      { name: 'shop', up: true },
      { name: 'office', up: false, problem: expect.stringContaining('refused') },
    ])
    expect((await ask(`/api/v1/dead-letters/${letter.id}`)).status).toBe(200)
    const unknown = await ask(`/api/v1/dead-letters/${make.letter().id}`)
    expect(unknown.status, 'it may be in the one that is down').toBe(503)
    const ready = await ask('/readyz')
    expect([ready.status, ready.body.status]).toEqual([503, 'DOWN'])
    expect((await ask('/healthz')).status).toBe(200)
  })

  it('F8: its audit goes on where it was when it is up again', async () => {
    const { clock, stores } = twoStores()
    for (let index = 0; index < 6; index++)
      for (const [name, { audit }] of Object.entries(stores))
        await audit.append({ at: index, by: 'x', action: 'y', target: `${name}-${index}` })
    const office = { ...stores.office }
    const { ask } = serverWorld({ stores: { shop: stores.shop, office }, clock })
    const seen: string[] = []
    let cursor = ''
    for (let page = 0; page < 10 && (page === 0 || cursor !== ''); page++) {
      office.audit = page === 1 ? broken(stores.office).audit : stores.office.audit
      const { body } = await ask(`/api/v1/audit?limit=4${cursor}`)
      seen.push(...body.entries.map((each: { target: string }) => each.target))
      cursor = body.cursor === undefined ? '' : `&cursor=${body.cursor}`
    }
    expect(seen.filter(target => target.startsWith('office'))).toEqual(
      [5, 4, 3, 2, 1, 0].map(index => `office-${index}`),
    )
    expect(new Set(seen).size).toBe(seen.length)
    office.audit = broken(stores.office).audit
    const { body } = await ask('/api/v1/audit')
    expect([body.entries.length, body.faults.length]).toEqual([6, 1])
    const last = (await ask(`/api/v1/audit?cursor=${body.cursor}`)).body
    expect([last.entries.length, last.faults.length, last.cursor], 'asks no more').toEqual([0, 1, undefined])
  })

  it('F6: degrades health, of which strangers learn no more than its name', async () => {
    const { clock, stores, bury } = twoStores()
    await bury('shop', 'orders')
    const one = serverWorld({ stores: { shop: stores.shop, office: broken(stores.office) }, clock })
    const { status, body, text } = await one.ask('/healthz/consumer')
    expect([status, body.status, body.dlqSize]).toEqual([503, 'DEGRADED', 1])
    expect(body.storesDown).toEqual(['office'])
    expect(text).not.toContain('refused')
    const all = await serverWorld({ stores: broken(stores.shop), clock }).ask('/healthz/consumer')
    expect([all.status, all.body.status, all.body.storesDown]).toEqual([503, 'DEGRADED', ['main']])
    expect(all.text).not.toContain('refused')
  })

  it('F8: a purge that fails in one store says what it deleted in the others', async () => {
    const { clock, stores, bury } = twoStores()
    await bury('shop', 'orders')
    await bury('office', 'orders')
    const failing = (store: Store): Store => {
      const deadLetters = Object.create(store.deadLetters, {
        stats: { value: store.deadLetters.stats.bind(store.deadLetters) },
        versions: { value: store.deadLetters.versions.bind(store.deadLetters) },
        deleteMany: { value: () => Promise.reject(new Error('postgres://user:secret@db is read-only')) },
      })
      return { ...store, deadLetters }
    }
    const faults = [{ store: 'shop', problem: 'postgres://***@db is read-only' }]
    const world = serverWorld({ stores: { shop: failing(stores.shop), office: stores.office }, clock })
    const path = '/api/v1/dead-letters/purge'
    const previewed = async () => {
      const { count, until, digest } = (await world.tell(`${path}/preview`, { filter: {} })).body
      return { filter: {}, expectedCount: count, until, digest, reason: 'old' }
    }
    const { status, headers, body } = await world.tell(path, await previewed())
    expect([status, headers.get('x-lazaret-partial'), body]).toEqual([200, 'shop', { deleted: 1, faults }])
    expect((await stores.office.deadLetters.stats()).count).toBe(0)
    expect((await stores.office.audit.list()).entries).toMatchObject([{ detail: { letters: 1 } }])
    expect((await stores.shop.audit.list()).entries).toMatchObject([
      { action: 'letters.purge.failed', detail: { deleted: 0, problem: 'postgres://***@db is read-only' } },
      { action: 'letters.purge', detail: { letters: 1 } },
    ])
    const none = await world.tell(path, await previewed())
    expect([none.status, none.body.detail]).toEqual([
      503,
      'Store shop failed (postgres://***@db is read-only). Preview the action again before you retry.',
    ])
  })

  it('F8: alone, it is a problem and no fault of the server', async () => {
    const { clock, stores } = twoStores()
    const { ask, errors } = serverWorld({ stores: broken(stores.shop), clock })
    const { status, body } = await ask('/api/v1/overview')
    expect([status, body.detail]).toEqual([503, 'main: connection to postgres://***@db refused'])
    expect(errors).toEqual([])
  })

  it('F8: one that does not answer at all is not waited for', async () => {
    const { clock, stores } = twoStores()
    const silent = {
      ...stores.office,
      deadLetters: { ...stores.office.deadLetters, list: () => new Promise(() => {}) },
    }
    const { ask } = serverWorld({ stores: { shop: stores.shop, office: silent as unknown as Store }, clock })
    const asked = ask('/api/v1/dead-letters')
    await clock.advance(5_000)
    expect((await asked).body.faults).toEqual([{ store: 'office', problem: 'no answer within 5 s' }])
  })
})
