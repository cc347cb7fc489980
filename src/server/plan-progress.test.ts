import { describe, expect, it } from 'vitest'
import { changed } from '../../test/support/conformance.ts'
import { serverWorld } from '../../test/support/server-world.ts'
import type { Replays } from '../ports/replays.ts'

const REPLAYS = '/api/v1/replays'

/** Plans as the console does: the answer is JSON lines. */
function plan(server: ReturnType<typeof serverWorld>['server'], body: object): Promise<Response> {
  return Promise.resolve(
    server.fetch(
      new Request(`http://127.0.0.1:4600${REPLAYS}`, {
        method: 'POST',
        headers: {
          host: '127.0.0.1:4600',
          origin: 'http://127.0.0.1:4600',
          accept: 'application/x-ndjson',
          'content-type': 'application/json',
        },
        body: JSON.stringify(body),
      }),
    ),
  )
}

async function linesOf(answer: Response) {
  return (await answer.text())
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
}

describe('the progress of a plan', () => {
  it('B10: a plan as JSON lines shows how many letters are checked, and ends with the replay', async () => {
    const { server, bury, make, ask } = serverWorld()
    await bury(...Array.from({ length: 1_100 }, () => make.letter()))
    const answer = await plan(server, { filter: {}, reason: 'fixed' })
    expect(answer.headers.get('content-type')).toBe('application/x-ndjson')
    const lines = await linesOf(answer)
    expect(lines.slice(0, -1)).toEqual([
      { checked: 500, of: 1_100 },
      { checked: 1_000, of: 1_100 },
      { checked: 1_100, of: 1_100 },
    ])
    const { done } = lines.at(-1)
    expect(done).toMatchObject({ count: 1_100, state: 'approved', findings: { replay: 1_100 } })
    expect((await ask(`${REPLAYS}/${done.id}`)).body.count).toBe(1_100)
  })

  it('B10: closing the connection cancels a plan, and leaves no replay and no audit entry behind', async () => {
    const base = serverWorld()
    await base.bury(...Array.from({ length: 1_600 }, () => base.make.letter()))
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
    let pages = 0
    const isSure = Promise.withResolvers<void>()
    const { deadLetters } = base.store
    const { server } = serverWorld({
      clock: base.clock,
      stores: {
        ...base.store,
        deadLetters: changed<typeof deadLetters>(deadLetters, whole => ({
          list: async query => {
            pages++
            if (pages === 6) await isSure.promise
            if (pages === 6) await reader!.cancel()
            return whole.list(query)
          },
        })),
      },
    })
    const answer = await plan(server, { filter: {}, reason: 'fixed' })
    reader = answer.body!.getReader()
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('{"checked":500,"of":1600}\n')
    isSure.resolve()
    await reader.closed
    // The next plan waits for its turn of the event loop behind the cancelled one.
    const next = await linesOf(await plan(base.server, { filter: {}, reason: 'again' }))
    expect(next.at(-1).done.count).toBe(1_600)
    expect(pages).toBe(6)
    expect(await base.store.replays.list()).toMatchObject([{ reason: 'again' }])
    expect((await base.store.audit.list()).entries).toMatchObject([
      { action: 'replay.plan', detail: { reason: 'again' } },
    ])
  })

  it.each([
    { when: 'the plan was just stored', leavesIn: 'create' },
    { when: 'the answer reads the counts', leavesIn: 'counts' },
  ] as const)('B10: a plan whose client leaves when $when is a cancelled replay', async ({ leavesIn }) => {
    const base = serverWorld()
    await base.bury(base.make.letter())
    const ended = Promise.withResolvers<void>()
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
    const begun = Promise.withResolvers<void>()
    const { server } = serverWorld({
      clock: base.clock,
      stores: {
        ...base.store,
        replays: changed<Replays>(base.store.replays, whole => ({
          create: async (replay, items) => {
            await begun.promise
            await whole.create(replay, items)
            if (leavesIn === 'create') await reader!.cancel()
          },
          counts: async id => {
            if (leavesIn === 'counts') await reader!.cancel()
            return whole.counts(id)
          },
          update: async replay => {
            const updated = await whole.update(replay)
            ended.resolve()
            return updated
          },
        })),
      },
    })
    const answer = await plan(server, { filter: {}, reason: 'fixed' })
    reader = answer.body!.getReader()
    await reader.read()
    begun.resolve()
    await ended.promise
    expect(await base.store.replays.list()).toMatchObject([
      { state: 'cancelled', stateReason: 'cancelled while it was planned' },
    ])
  })

  it('B10: a plan without a letter to send says why in its last line', async () => {
    const { server, bury, make } = serverWorld()
    await bury({ ...make.letter(), state: 'parked' })
    const lines = await linesOf(await plan(server, { filter: {}, reason: 'fixed' }))
    expect(lines).toEqual([
      { checked: 1, of: 1 },
      { failed: expect.stringContaining('The letter cannot be sent; nothing was planned') },
    ])
  })

  it('F8: faults in the options are answered before the first line', async () => {
    const { server } = serverWorld()
    const answer = await plan(server, { filter: {}, reason: 'fixed', to: 'no channel' })
    expect(answer.status).toBe(400)
  })
})
