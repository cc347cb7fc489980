import { describe, expect, it } from 'vitest'
import { serverWorld } from '../../test/support/server-world.ts'
import { encodeCursor } from '../adapter-kit/query/cursor.ts'

const LISTINGS = ['dead-letters', 'groups', 'audit', 'fleet', 'fleet/services']
const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const FORGED = [
  'x',
  '99',
  '999999999999999',
  'x'.repeat(2_001),
  '99999999999999999999-99999999999999999999',
  '1e999_x_00000000',
  base64({ main: '999' }),
  base64({ other: null }),
  base64([]),
  base64(null),
]

describe('cursors that nobody handed out', () => {
  it('E9: are refused with 400 and a remedy by every listing', async () => {
    const { ask, bury, make, store } = serverWorld()
    await bury(make.letter(), make.letter())
    for (const target of ['a', 'b', 'c'])
      await store.audit.append({ at: 1, by: 'ada', action: 'letter.discard', target })
    for (const listing of LISTINGS)
      for (const cursor of FORGED) {
        const { status, text } = await ask(`/api/v1/${listing}?limit=1&cursor=${encodeURIComponent(cursor)}`)
        expect([listing, cursor.slice(0, 60), status]).toEqual([listing, cursor.slice(0, 60), 400])
        expect(text).toContain('cursor')
      }
  })

  it('E9: are refused even when their mark is right', async () => {
    const { ask, store } = serverWorld()
    await store.audit.append({ at: 1, by: 'ada', action: 'letter.discard', target: 'a' })
    const filter = [undefined, undefined, undefined]
    const inner = encodeCursor({ name: 'audit', filter }, '999')
    const asked = (places: unknown) => {
      const cursor = encodeCursor({ name: 'audit of all stores', filter }, base64(places))
      return ask(`/api/v1/audit?limit=1&cursor=${encodeURIComponent(cursor)}`)
    }
    expect((await asked({ main: null })).status, 'the mark is that of the listing').toBe(200)
    for (const places of [{ main: inner }, { main: '999' }, { gone: null }, 5, null]) {
      const { status, body } = await asked(places)
      expect([places, status]).toEqual([places, 400])
      expect(body.faults[0].remedy).toContain('give the cursor of the previous page')
    }
  })
})
