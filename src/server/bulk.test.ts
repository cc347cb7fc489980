import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { changed } from '../../test/support/conformance.ts'
import { PEOPLE, secretOf, serverWorld } from '../../test/support/server-world.ts'
import type { DeadLetterStore } from '../ports/dead-letters.ts'

const LETTERS = '/api/v1/dead-letters'
const OPERATOR = { token: secretOf('ola') }
const VIEWER = { token: secretOf('vic') }

async function world() {
  const base = serverWorld({ tokens: PEOPLE })
  const { make, clock, store } = base
  const letter = (id: number, text: string) =>
    make.letter({
      event: make.event({ payload: { customer: { id }, password: 'hunter2' } }),
      error: new Error(text),
    })
  const letters = [letter(7, '=cmd()'), letter(7, 'said "no", and left'), letter(8, 'other')]
  await base.bury(...letters)
  const [first] = letters
  await store.deadLetters.change(first!.id, { to: 'quarantined', at: clock.now() })
  const filter = { where: 'payload.customer.id = 7' }
  const run = async (verb: string, more: object = {}, question: object = OPERATOR) => {
    const preview = await base.tell(`${LETTERS}/${verb}/preview`, { filter }, question)
    if (preview.status !== 200) return preview
    const { count, byState, until, digest } = preview.body
    const body = { filter, expectedCount: count, byState, until, digest, reason: 'known', ...more }
    return base.tell(`${LETTERS}/${verb}`, body, question)
  }
  const states = async () =>
    Promise.all(letters.map(async ({ id }) => (await store.deadLetters.get(id))!.state))
  return { ...base, letters, filter, run, states }
}

describe('actions on every letter that matches', () => {
  it('F8: an export too large for one answer is refused, and told to come in parts', async () => {
    const { bury, make, run } = await world()
    const payload = { customer: { id: 7 }, text: 'x'.repeat(1_000_000) }
    await bury(...Array.from({ length: 21 }, () => make.letter({ event: make.event({ payload }) })))
    const refused = await run('export', { format: 'jsonl' })
    expect(refused).toMatchObject({ status: 422 })
    expect(refused.body.detail).toContain('application/x-ndjson')
  })

  it('F8: discard changes the letters of the preview, and the audit log has one entry for them', async () => {
    const { run, states, store } = await world()
    expect((await run('discard')).body).toEqual({ changed: 2 })
    expect(await states()).toEqual(['discarded', 'discarded', 'dead'])
    const all = (await store.audit.list()).entries
    const entries = all.filter(({ action }) => action.startsWith('letters.discard'))
    expect(entries).toMatchObject([
      {
        by: 'ola',
        target: 'by a search',
        detail: { letters: 2, byState: { dead: 1, quarantined: 1 }, note: 'known' },
      },
    ])
  })

  it('F8: a discard that fails in the middle of a batch answers how many letters it changed', async () => {
    const { run, states, store } = await world()
    const { deadLetters } = store
    const change = deadLetters.change.bind(deadLetters)
    let calls = 0
    deadLetters.change = async (...asked) => {
      if (++calls === 2) throw new Error('the disk is full')
      return change(...asked)
    }
    expect((await run('discard')).body).toMatchObject({
      changed: 1,
      faults: [{ problem: 'the disk is full' }],
    })
    expect((await states()).filter(state => state === 'discarded')).toHaveLength(1)
  })

  it('F8: release takes only quarantined letters', async () => {
    const { run, states } = await world()
    expect((await run('release')).body).toEqual({ changed: 1 })
    expect(await states()).toEqual(['dead', 'dead', 'dead'])
  })

  it('F8: assign makes a person the owner of the groups', async () => {
    const { run, ask } = await world()
    expect((await run('assign', { owner: 'ada' })).body).toEqual({ changed: 2 })
    const { groups } = (await ask('/api/v1/groups', OPERATOR)).body
    expect(groups.filter(({ owner }: { owner?: string }) => owner === 'ada').length).toBeGreaterThan(0)
    expect((await run('assign')).status).toBe(400)
  })

  it('F8: an export reads no more letters while its client does not read the answer', async () => {
    const base = serverWorld()
    const { clock, store, make } = base
    await base.bury(...Array.from({ length: 1_000 }, () => make.letter()))
    const { count, byState, until, digest } = (await base.tell(`${LETTERS}/export/preview`, { filter: {} }))
      .body
    let isRead = 0
    const { server } = serverWorld({
      clock,
      stores: {
        ...store,
        deadLetters: changed<DeadLetterStore>(store.deadLetters, whole => ({
          get: id => {
            isRead++
            return whole.get(id)
          },
        })),
      },
    })
    const [host, accept] = ['127.0.0.1:4600', 'application/x-ndjson']
    const answer = await server.fetch(
      new Request(`http://${host}${LETTERS}/export`, {
        method: 'POST',
        headers: { host, origin: `http://${host}`, accept, 'content-type': 'application/json' },
        body: JSON.stringify({
          filter: {},
          expectedCount: count,
          byState,
          until,
          digest,
          reason: 'known',
          format: 'jsonl',
        }),
      }),
    )
    const reader = answer.body!.getReader()
    for (let turn = 0; turn < 1_000; turn++) await setImmediate()
    expect(isRead).toBeLessThan(1_000)
    for (let line = await reader.read(); !line.done; ) line = await reader.read()
    expect(isRead).toBe(1_000)
  })

  it('F8: an export as CSV is masked, quoted, and runs nothing in a spreadsheet', async () => {
    const { run, store } = await world()
    const { body } = await run('export', { format: 'csv' })
    expect(body.exported).toBe(2)
    const lines = body.text.split('\r\n')
    expect(lines[0]).toMatch(/^id,channel,handler,state,/)
    expect(body.text).toContain(",'=cmd(),")
    expect(body.text).toContain(',"said ""no"", and left",')
    expect(body.text).not.toContain('hunter2')
    expect((await store.audit.list()).entries[0]).toMatchObject({
      action: 'letters.export',
      detail: { format: 'csv', letters: 2 },
    })
  })

  it('F8: an export of no letters has the header, as JSON lines of progress too', async () => {
    const { tell, server } = await world()
    const filter = { channel: 'none' }
    const { until, digest } = (await tell(`${LETTERS}/export/preview`, { filter }, OPERATOR)).body
    const body = { filter, expectedCount: 0, until, digest, reason: 'known', format: 'csv' }
    const whole = await tell(`${LETTERS}/export`, body, OPERATOR)
    const [host, accept] = ['127.0.0.1:4600', 'application/x-ndjson']
    const authorization = `Bearer ${OPERATOR.token}`
    const answer = await server.fetch(
      new Request(`http://${host}${LETTERS}/export`, {
        method: 'POST',
        headers: { host, accept, authorization, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    )
    const text = await answer.text()
    expect(
      text
        .trim()
        .split('\n')
        .map(line => JSON.parse(line)),
    ).toEqual([{ exported: 0, of: 0, text: whole.body.text }, { done: { exported: 0 } }])
  })

  it('F8: an export as JSON lines has one masked letter in each line', async () => {
    const { run } = await world()
    const { text } = (await run('export', { format: 'jsonl' })).body
    const letters = text
      .trim()
      .split('\n')
      .map((line: string) => JSON.parse(line))
    expect(letters.map(({ event }: { event: { payload: unknown } }) => event.payload)).toEqual([
      { customer: { id: 7 }, password: '***' },
      { customer: { id: 7 }, password: '***' },
    ])
  })

  it('F8: a viewer may do none of them, and a purge needs an admin', async () => {
    const { run, states } = await world()
    for (const verb of ['discard', 'release', 'assign', 'export', 'purge'])
      expect((await run(verb, {}, VIEWER)).status, verb).toBe(403)
    expect((await run('purge')).status).toBe(403)
    expect(await states()).toEqual(['quarantined', 'dead', 'dead'])
  })

  it('F8: a letter that fails again after the preview stays, and the refusal says what has changed', async () => {
    const { tell, filter, letters, make, store, clock } = await world()
    const { body: preview } = await tell(`${LETTERS}/discard/preview`, { filter }, OPERATOR)
    await clock.advance(5_000)
    await store.deadLetters.send(make.letter({ event: letters[1]!.event, replay: 1 }))
    const { count, until, digest } = preview
    const body = { filter, expectedCount: count, until, digest, reason: 'x' }
    const refused = await tell(`${LETTERS}/discard`, body, OPERATOR)
    expect(refused.status).toBe(409)
    expect(refused.body.detail).toContain('Preview the discard again')
  })

  it('F8: a discard as JSON lines shows its progress, and closing the connection cancels it; people read one entry', async () => {
    const base = serverWorld()
    const { store, clock, make } = base
    await base.bury(...Array.from({ length: 400 }, () => make.letter()))
    const { count, until, digest } = (await base.tell(`${LETTERS}/discard/preview`, { filter: {} })).body
    const cancelled = Promise.withResolvers<void>()
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
    let changes = 0
    const { server, ask } = serverWorld({
      clock,
      stores: {
        ...store,
        deadLetters: changed<DeadLetterStore>(store.deadLetters, whole => ({
          change: async (id, change) => {
            if (++changes === 150) await reader?.cancel()
            return whole.change(id, change)
          },
        })),
        audit: {
          list: query => store.audit.list(query),
          append: async entry => {
            await store.audit.append(entry)
            if (entry.action === 'letters.discard.partial') cancelled.resolve()
          },
        },
      },
    })
    const answer = await server.fetch(
      new Request(`http://127.0.0.1:4600${LETTERS}/discard`, {
        method: 'POST',
        headers: {
          host: '127.0.0.1:4600',
          origin: 'http://127.0.0.1:4600',
          accept: 'application/x-ndjson',
          'content-type': 'application/json',
        },
        body: JSON.stringify({ filter: {}, expectedCount: count, until, digest, reason: 'old' }),
      }),
    )
    reader = answer.body!.getReader()
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('{"changed":100,"of":400}\n')
    await cancelled.promise
    const { byState } = await store.deadLetters.stats()
    expect(byState.discarded).toBeLessThan(400)
    expect(byState.dead).toBe(400 - byState.discarded!)
    const { entries } = (await ask('/api/v1/audit')).body
    expect(entries).toMatchObject([
      { action: 'letters.discard.partial', detail: { changed: byState.discarded, cancelled: true } },
    ])
  })
})
