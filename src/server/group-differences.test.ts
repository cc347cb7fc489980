import { describe, expect, it } from 'vitest'
import { PEOPLE, secretOf, serverWorld } from '../../test/support/server-world.ts'

const ERROR = new TypeError('no total')

/** Failed letters of Germany and recovered ones of France; what is masked separates them as well. */
async function world(recoveredCount = 10) {
  const base = serverWorld({ tokens: PEOPLE })
  const { bury, make, store } = base
  const letterOf = (country: string, index: number) =>
    make.letter({
      error: ERROR,
      metadata: { region: 'eu', customer_name: `Ann of ${country}` },
      event: make.event({
        payload: { country, id: index, password: `secret-${country}`, mail: `shop@${country}.example` },
        headers: { tenant: country === 'DE' ? 'acme' : 'globex', authorization: `Basic ${country}abcdef` },
      }),
    })
  const failed = Array.from({ length: 12 }, (_, index) => letterOf('DE', index))
  const recovered = Array.from({ length: recoveredCount }, (_, index) => letterOf('FR', 100 + index))
  await bury(...failed, ...recovered)
  for (const { id } of recovered) {
    await store.deadLetters.change(id, { to: 'replaying', at: 1, replayId: 'r1' })
    await store.deadLetters.change(id, { to: 'resolved', at: 2 })
  }
  const path = `/api/v1/groups/${failed[0]!.cycle.failure!.fingerprint.id}/differences`
  return { ...base, path, recovered, look: (name: string) => base.ask(path, { token: secretOf(name) }) }
}

describe('what differs between failed and recovered letters', () => {
  it('F8: the fields that separate them best, by the paths of conditions', async () => {
    const { look } = await world()
    const { body } = await look('vic')
    expect(body).toMatchObject({ failed: 12, recovered: 10, needed: 5 })
    expect(body.fields).toEqual([
      { field: 'header.tenant', value: '"acme"', failed: 12, recovered: 0 },
      { field: 'payload.country', value: '"DE"', failed: 12, recovered: 0 },
    ])
  })

  it.each(['vic', 'ola', 'ada'])('P2: masked fields are left out for everybody: %s', async name => {
    const { look } = await world()
    const { body, text } = await look(name)
    expect(body.masked).toBe(4)
    expect(text).not.toMatch(/secret|shop@|Basic|Ann|password|mail|authorization|customer_name/)
  })

  it('F8: too few letters are not compared', async () => {
    const { look } = await world(4)
    expect((await look('vic')).body).toMatchObject({ recovered: 4, fields: [] })
  })

  it('B13: letters that recovered with an edited payload do not count', async () => {
    const { look, store } = await world()
    const { replays } = store
    const get = replays.get.bind(replays)
    replays.get = async id => {
      const plan = await get(id)
      return id === 'r1' ? ({ ...plan, id, patch: [] } as never) : plan
    }
    expect((await look('vic')).body).toMatchObject({ failed: 12, recovered: 0, fields: [] })
  })
})
