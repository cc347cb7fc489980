import { describe, expect, it } from 'vitest'
import { PEOPLE, secretOf, serverWorld } from '../../test/support/server-world.ts'
import { memoryStore } from '../adapters/memory/store.ts'
import { FakeClock } from '../testing/fake-clock.ts'

const VIEWS = '/api/v1/views'
const OPERATOR = { token: secretOf('ola') }
const ADMIN = { token: secretOf('ada') }
const VIEWER = { token: secretOf('vic') }

function world(options: Parameters<typeof serverWorld>[0] = {}) {
  const base = serverWorld({ tokens: PEOPLE, ...options })
  const names = async (question: object) =>
    (await base.ask(VIEWS, question)).body.views.map(
      (view: { name: string; default: boolean }) => `${view.name}${view.default ? ' (default)' : ''}`,
    )
  const save = (name: string, shared: boolean, more: object = {}, question: object = OPERATOR) =>
    base.tell(VIEWS, { name, shared, filter: { channel: 'orders', after: '1h' }, ...more }, question)
  return { ...base, names, save }
}

describe('saved views', () => {
  it('F8: a person has their own and the shared ones, each with its filter as it was saved', async () => {
    const { ask, save, names } = world()
    expect((await save('mine', false)).status).toBe(200)
    await save('ours', true)
    await save('of ada', false, {}, ADMIN)
    expect(await names(OPERATOR)).toEqual(['mine', 'ours'])
    expect(await names(ADMIN)).toEqual(['of ada', 'ours'])
    const [view] = (await ask(VIEWS, OPERATOR)).body.views
    expect(view).toEqual({
      name: 'mine',
      shared: false,
      default: false,
      by: 'ola',
      filter: { channel: 'orders', after: '1h' },
    })
  })

  it('F8: saving again replaces, deleting removes, and saving after that brings it back', async () => {
    const { ask, tell, save, names, clock } = world()
    await save('ours', true)
    await clock.advance(1)
    await save('ours', true, { filter: { state: 'dead' } }, ADMIN)
    const { views } = (await ask(VIEWS, OPERATOR)).body
    expect(views).toMatchObject([{ by: 'ada', filter: { state: 'dead' } }])
    await clock.advance(1)
    expect((await tell(`${VIEWS}/delete`, { name: 'ours', shared: true }, OPERATOR)).status).toBe(200)
    expect(await names(ADMIN)).toEqual([])
    expect((await tell(`${VIEWS}/delete`, { name: 'ours', shared: true }, OPERATOR)).status).toBe(404)
    await clock.advance(1)
    await save('ours', true)
    expect(await names(ADMIN)).toEqual(['ours'])
  })

  it('F8: one person has one default, and changes no default of others', async () => {
    const { save, names, clock } = world()
    await save('a', false, { default: true })
    await save('team', true, { default: true }, ADMIN)
    await clock.advance(1)
    await save('b', false, { default: true })
    expect(await names(OPERATOR)).toEqual(['a', 'b (default)', 'team (default)'])
  })

  it('F8: an unknown filter is refused', async () => {
    const { save } = world()
    const { status, body } = await save('x', false, { filter: { chanel: 'orders' } })
    expect(status).toBe(400)
    expect(body.faults).toHaveLength(1)
  })

  it('P2: a viewer saves none, and does not see shared views whose texts may be masked values', async () => {
    const { save, names, ask } = world()
    expect((await save('x', false, {}, VIEWER)).status).toBe(403)
    await save('open', true)
    await save('secret', true, { filter: { where: 'payload.password = hunter2' } })
    expect(await names(VIEWER)).toEqual(['open'])
    expect(await names(ADMIN)).toEqual(['open', 'secret'])
    expect((await ask('/api/v1/audit', VIEWER)).text).not.toContain('hunter2')
  })

  it('F8: outlives the server, because the store has it', async () => {
    const clock = new FakeClock()
    const stores = { one: memoryStore({ clock }), two: memoryStore({ clock }) }
    const { save } = world({ stores, clock })
    await save('mine', false)
    expect(await world({ stores, clock }).names(OPERATOR)).toEqual(['mine'])
  })
})
