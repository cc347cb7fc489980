import assert from 'node:assert/strict'
import type { AuditLog } from '../../../ports/audit.ts'
import { inDurableStoreWorld, inStoreWorld, type StoreConformance } from './suite.ts'

async function appendFive(audit: AuditLog): Promise<void> {
  for (let index = 0; index < 5; index++) {
    const detail = index === 0 ? {} : { detail: { index, list: [null] } }
    const [action, target] = [index % 2 === 0 ? 'letter.discard' : 'group.mute', `letter-${index % 3}`]
    await audit.append({ at: 1_000 + index, by: 'ada', action, target, ...detail })
  }
}

/** What the port of the audit log promises. */
export function auditTests(suite: StoreConformance): void {
  const it = inStoreWorld(suite)
  const itDurable = inDurableStoreWorld(suite)

  it('B13: audit entries are listed newest first, by person, target and action, page by page', async world => {
    const { audit } = world.store
    await appendFive(audit)
    const first = await audit.list({ limit: 3 })
    await audit.append({ at: 9_000, by: 'bo', action: 'letter.discard', target: 'letter-9' })
    const second = await audit.list({ limit: 3, cursor: first.cursor })
    const shown = [...first.entries, ...second.entries].map(({ detail }) => detail?.['index'])
    assert.deepEqual(shown, [4, 3, 2, 1, undefined])
    assert.equal(second.cursor, undefined)
    const by = { at: 1_004, by: 'ada', action: 'letter.discard', target: 'letter-1' }
    assert.deepEqual(first.entries[0], { ...by, detail: { index: 4, list: [null] } })
    const muted = await audit.list({ target: 'letter-0', action: 'group.mute' })
    assert.equal(muted.entries.length, 1)
    assert.equal((await audit.list({ action: 'letter.discard' })).entries.length, 4)
    const ada = await audit.list({ by: 'ada', action: 'letter.discard', limit: 2 })
    const rest = await audit.list({ by: 'ada', action: 'letter.discard', limit: 2, cursor: ada.cursor })
    assert.deepEqual(
      [ada, rest].map(({ entries }) => entries.length),
      [2, 1],
    )
    assert.deepEqual(
      (await audit.list({ by: 'bo' })).entries.map(({ target }) => target),
      ['letter-9'],
    )
    assert.deepEqual((await audit.list({ by: 'nobody' })).entries, [])
    await assert.rejects(audit.list({ cursor: 'x' }), /query\.cursor/)
  })

  itDurable('B13: audit entries are never deleted', async world => {
    await appendFive(world.store.audit)
    const before = await world.store.audit.list()
    const { audit } = await world.reopen()
    assert.deepEqual(await audit.list(), before)
  })
}
