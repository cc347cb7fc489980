import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { resolveAuditQuery } from '../../src/adapter-kit/query/audit-query.ts'
import { encodeCursor } from '../../src/adapter-kit/query/cursor.ts'
import { fileStore } from '../../src/adapters/file/index.ts'
import { memoryStore } from '../../src/adapters/memory/index.ts'
import { openSqlite } from '../../src/adapters/sqlite/index.ts'
import type { Store } from '../../src/ports/store.ts'
import { serverWorld } from '../support/server-world.ts'

/** No audit log of these tests has so many entries. */
const FAR = '999999999999999'

/** Cursors with the mark that the listing puts on its own. Anyone can compute it, because it is not secret. */
const forgedAt = (place: string) => resolveAuditQuery({}, text => text).cursorAt(place)

const STORES: Readonly<Record<string, (folder: string) => Store>> = {
  memory: () => memoryStore(),
  file: folder => fileStore({ dir: join(folder, 'store') }),
  sqlite: folder => openSqlite({ path: join(folder, 'store.db') }),
}

it.each(Object.keys(STORES))(
  'E9: the audit log of %s refuses or answers a forged place with a valid mark',
  async name => {
    const folder = await mkdtemp(join(tmpdir(), 'lazaret-cursors-'))
    const store = STORES[name]!(folder)
    for (const target of ['a', 'b', 'c'])
      await store.audit.append({ at: 1, by: 'ada', action: 'letter.discard', target })
    const { cursor } = await store.audit.list({ limit: 1 })
    const place = cursor!.slice(0, cursor!.lastIndexOf('_'))
    expect(forgedAt(place), 'the mark is that of the listing').toBe(cursor)
    for (const forged of [FAR, `${FAR}_${FAR}`, '0', '-1', '1.5', '1e3', 'x', '9'.repeat(400)]) {
      const asked = store.audit.list({ limit: 1, cursor: forgedAt(forged) })
      const answer = await asked.catch((error: unknown) => error)
      if (answer instanceof Error)
        expect(answer).toMatchObject({
          code: 'LAZARET_OPTIONS_INVALID',
          message: expect.stringContaining('query.cursor'),
        })
    }
    await store.close()
    await rm(folder, { recursive: true })
  },
)

it('E9: the server answers 400 with a remedy to a forged place with a valid mark', async () => {
  const { ask, store } = serverWorld()
  await store.audit.append({ at: 1, by: 'ada', action: 'letter.discard', target: 'a' })
  const listing = { name: 'audit of all stores', filter: [undefined, undefined, undefined] }
  const asked = async (places: unknown) => {
    const cursor = encodeCursor(listing, Buffer.from(JSON.stringify(places)).toString('base64url'))
    return ask(`/api/v1/audit?limit=1&cursor=${encodeURIComponent(cursor)}`)
  }
  expect((await asked({ main: null })).status, 'the mark is that of the listing').toBe(200)
  for (const places of [{ main: forgedAt(FAR) }, { main: '999' }, { gone: null }, 5, null]) {
    const { status, body } = await asked(places)
    expect([places, status]).toEqual([places, 400])
    expect(body.faults[0].remedy).toContain('give the cursor of the previous page')
  }
})
