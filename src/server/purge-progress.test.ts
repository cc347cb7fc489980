import { describe, expect, it } from 'vitest'
import { changed } from '../../test/support/conformance.ts'
import { serverWorld } from '../../test/support/server-world.ts'
import type { AuditLog } from '../ports/audit.ts'
import type { DeadLetterStore } from '../ports/dead-letters.ts'

const PURGE = '/api/v1/dead-letters/purge'

describe('the progress of a purge', () => {
  it('F8: a purge as JSON lines shows its progress, and closing the connection cancels it after a batch', async () => {
    const base = serverWorld()
    const { clock, store, make } = base
    await base.bury(...Array.from({ length: 400 }, () => make.letter()))
    const preview = (await base.tell(`${PURGE}/preview`, { filter: {} })).body
    const { count, byState, until, digest } = preview
    const body = { filter: {}, expectedCount: count, byState, until, digest, reason: 'old' }
    const noted = Promise.withResolvers<void>()
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
    let batches = 0
    const { server } = serverWorld({
      clock,
      stores: {
        ...store,
        deadLetters: changed<DeadLetterStore>(store.deadLetters, whole => ({
          deleteMany: async seen => {
            if (++batches === 2) await reader?.cancel()
            return whole.deleteMany(seen)
          },
        })),
        audit: changed<AuditLog>(store.audit, whole => ({
          append: async entry => {
            await whole.append(entry)
            if (entry.action === 'letters.purge.partial') noted.resolve()
          },
        })),
      },
    })
    const ask = () =>
      server.fetch(
        new Request(`http://127.0.0.1:4600${PURGE}`, {
          method: 'POST',
          headers: {
            host: '127.0.0.1:4600',
            origin: 'http://127.0.0.1:4600',
            accept: 'application/x-ndjson',
            'content-type': 'application/json',
          },
          body: JSON.stringify(body),
        }),
      )
    const answer = await ask()
    expect(answer.headers.get('content-type')).toBe('application/x-ndjson')
    reader = answer.body!.getReader()
    const first = new TextDecoder().decode((await reader.read()).value)
    expect(first).toBe('{"deleted":100,"of":400}\n')
    await noted.promise
    expect(batches).toBe(2)
    expect((await store.deadLetters.stats()).count).toBe(100)
    expect((await store.audit.list()).entries.toReversed()).toMatchObject([
      { action: 'letters.purge', detail: { letters: 400 } },
      { action: 'letters.purge.partial', detail: { letters: 400, deleted: 300, cancelled: true } },
    ])
    const again = await ask()
    expect(again.status).toBe(409)
    expect(await again.text()).toContain('100 letters match, not 400: 300 fewer than in the preview')
    const next = (await base.tell(`${PURGE}/preview`, { filter: {} })).body
    Object.assign(body, {
      expectedCount: next.count,
      byState: next.byState,
      until: next.until,
      digest: next.digest,
    })
    const lines = (await (await ask()).text()).trim().split('\n')
    expect(lines.map(line => JSON.parse(line))).toEqual([
      { deleted: 100, of: 100 },
      { done: { deleted: 100 } },
    ])
  })

  it('F8: a refused purge says which states have changed since the preview', async () => {
    const { tell, bury, make, store, clock } = serverWorld()
    const [letter] = await bury(make.letter(), make.letter())
    const { byState, until, digest } = (await tell(`${PURGE}/preview`, { filter: {} })).body
    await store.deadLetters.change(letter!.id, { to: 'parked', at: clock.now() })
    const purge = { filter: {}, expectedCount: 2, byState, until, digest, reason: 'old' }
    const { status, body } = await tell(PURGE, purge)
    expect(status).toBe(409)
    expect(body.detail).toContain('(dead: 2 then, 1 now; parked: 0 then, 1 now)')
    expect((await store.deadLetters.stats()).count).toBe(2)
  })
})
