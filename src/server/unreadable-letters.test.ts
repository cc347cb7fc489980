import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { withTempFolder } from '../../test/support/folder.ts'
import { openSqlite } from '../adapters/sqlite/index.ts'
import { createFactory } from '../testing/factories.ts'
import { createServer } from './index.ts'

const HOST = 'http://127.0.0.1:4600'

it('F8: a letter that another program changed is shown by no answer, and keeps no other from being exported', async () => {
  await withTempFolder(async folder => {
    const path = join(folder, 'shop.db')
    const store = openSqlite({ path })
    const make = createFactory()
    const letters = [make.letter(), make.letter(), make.letter()]
    for (const letter of letters) await store.deadLetters.send(letter)
    const [{ id }] = letters as [(typeof letters)[0]]
    const database = new DatabaseSync(path)
    database
      .prepare(`update letters set body = replace(body, '"headers":{}', '"headers":"hunter2"') where id = ?`)
      .run(id)
    database.close()
    await expect(store.deadLetters.get(id)).rejects.toThrow('hunter2')

    const server = createServer({ stores: store, watch: 'off' })
    const call = async (address: string, body?: object) => {
      const headers = { host: '127.0.0.1:4600', origin: HOST, 'content-type': 'application/json' }
      const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
      const answer = await server.fetch(
        new Request(`${HOST}/api/v1/dead-letters/${address}`, { headers, ...sent }),
      )
      const text = await answer.text()
      expect(text).not.toContain('hunter2')
      return { status: answer.status, body: JSON.parse(text) }
    }
    const bulk = async (action: string, more = {}) => {
      const { body } = await call(`${action}/preview`, { filter: {} })
      const { count, until, digest } = body
      return call(action, { filter: {}, until, digest, expectedCount: count, reason: 'r', ...more })
    }
    expect(await call(id)).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining('cannot be read') },
    })
    expect((await call(`${id}/discard`, { reason: 'r' })).status).toBe(422)
    const faults = [{ store: 'main', problem: '1 of its letters cannot be read, or changed meanwhile' }]
    expect(await bulk('export', { format: 'jsonl' })).toMatchObject({
      status: 200,
      body: { exported: 2, faults },
    })
    expect(await bulk('discard')).toMatchObject({
      status: 200,
      body: { changed: 2, faults: [{ store: 'main' }] },
    })
    expect(await bulk('assign', { owner: 'ann' })).toMatchObject({
      status: 200,
      body: { changed: 2, faults: [{ store: 'main' }] },
    })
    const { body: audit } = await call('../audit?action=letters.assign.failed')
    expect(audit.entries).toMatchObject([{ detail: { problem: expect.stringContaining('event.headers') } }])
    await server.close()
    await store.close()
  })
})
