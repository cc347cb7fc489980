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
    const letter = make.letter({ channel, at, attempts: [make.attempt(1)] })
    await stores[name].deadLetters.send(letter)
    return letter
  }
  return { ...serverWorld({ stores, clock }), clock, stores, bury }
}

/** A store none of whose parts answers. */
function broken(store: Store): Store {
  const refuse = () => Promise.reject(new Error('connection to postgres://user:secret@db refused'))
  const dead = new Proxy({}, { get: () => refuse })
  return { ...store, deadLetters: dead, groups: dead, replays: dead, audit: dead } as Store
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

  it('B10: a filter plans in one store, which has to be named; ids find theirs', async () => {
    const { tell, bury } = twoStores()
    const [one, other] = [await bury('shop', 'orders'), await bury('office', 'orders')]
    const plan = { filter: { channel: 'orders' }, reason: 'x' }
    const unnamed = await tell('/api/v1/replays', plan)
    expect([unnamed.status, unnamed.body.detail]).toEqual([
      422,
      'A filter selects in one store: name the store, which is one of shop, office.',
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
    expect((await asked).body.faults).toEqual([{ store: 'office', problem: 'no answer for 5 s' }])
  })
})
