import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fileStore } from '../../adapters/file/index.ts'
import { createIdSource } from '../../core/event/uuid.ts'
import { PermanentError } from '../../core/failure/signals.ts'
import { systemClock } from '../../ports/clock.ts'
import { planReplay } from '../../replay/plan.ts'
import { unwritablePayloads } from '../../testing/conformance/unwritable.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { withDeadLetters } from './with-dead-letters.ts'

const newId = createIdSource(seededRandom(3))

/** A wrapped handler that gives up on everything, in front of a store on disk. */
async function world<T>(run: (call: (message: unknown) => Promise<unknown>, store: Store) => Promise<T>) {
  const dir = await mkdtemp(join(tmpdir(), 'lazaret-unwritable-'))
  const store = fileStore({ dir })
  const call = withDeadLetters(
    async (_message: unknown) => {
      throw new PermanentError('no')
    },
    { source: 'orders', name: 'bill', deadLetters: store.deadLetters },
  )
  try {
    return await run(call, store)
  } finally {
    await call.close()
    await store.close()
    await rm(dir, { recursive: true, force: true })
  }
}

type Store = ReturnType<typeof fileStore>

function plan(store: Store, patch?: [{ op: 'replace'; path: string; value: unknown }]) {
  const request = { reason: 'test', by: 'me', filter: { channel: 'orders' }, ...(patch && { patch }) }
  return planReplay(store, request as never, { clock: systemClock, newId })
}

describe('a payload that JSON cannot write', () => {
  it('P2: bytes keep their values, whatever object holds them', async () => {
    const { buffer } = Uint8Array.of(1, 2, 3)
    await world(async (call, store) => {
      await call({ whole: buffer, part: new DataView(buffer, 1), bytes: Uint8Array.of(3) })
      const [letter] = (await store.deadLetters.list()).letters
      expect(letter?.event.payload).toEqual({
        whole: { type: 'Buffer', data: [1, 2, 3] },
        part: { type: 'Buffer', data: [2, 3] },
        bytes: { type: 'Buffer', data: [3] },
      })
    })
  })

  it.each(Object.keys(unwritablePayloads()))(
    'P2 B16: %s becomes a letter, and the call resolves',
    async what => {
      await world(async (call, store) => {
        await call(unwritablePayloads()[what])
        await call('the next one')
        const { letters } = await store.deadLetters.list()
        expect(letters).toHaveLength(2)
        const letter = letters.find(({ event }) => event.payload !== 'the next one')!
        expect(letter.cycle).toMatchObject({ reason: 'permanent', failure: { message: 'no' } })
        expect(letter.detail).toMatchObject({ notReplayable: expect.stringContaining('payload') })

        const { findings } = await plan(store)
        expect(findings).toEqual({ replay: 1, skip_schema: 1 })
        const edited = await plan(store, [{ op: 'replace', path: '', value: { total: 12 } }])
        expect(edited.findings).toEqual({ replay: 2 })
      })
    },
  )

  it('P2: shows what can be shown, and tells no value in the reason', async () => {
    await world(async (call, store) => {
      const order: Record<string, unknown> = {
        total: 12345678901234567890n,
        tags: new Set(['a']),
        when: new Date(0),
      }
      order['self'] = order
      await call(order)
      const { letters } = await store.deadLetters.list()
      expect(letters[0]?.event.payload).toEqual({
        total: '[bigint] 12345678901234567890',
        tags: { '[Set]': ['a'] },
        when: '1970-01-01T00:00:00.000Z',
        self: '[circular]',
      })
      expect(JSON.stringify(letters[0]?.detail)).not.toContain('12345678901234567890')
    })
  })

  it('P2: what JSON can write in its own way is kept that way and can be replayed', async () => {
    await world(async (call, store) => {
      await call({ when: new Date(0), nothing: undefined, list: [undefined] })
      const { letters } = await store.deadLetters.list()
      expect(letters[0]?.event.payload).toEqual({ when: '1970-01-01T00:00:00.000Z', list: [null] })
      expect(letters[0]?.detail).toBeUndefined()
    })
  })

  it('P2: an envelope that no store could read back is made fit', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'lazaret-unwritable-'))
    const store = fileStore({ dir })
    const call = withDeadLetters(() => Promise.reject(new PermanentError('no')), {
      source: 'orders',
      name: 'bill',
      deadLetters: store.deadLetters,
      describe: () => ({
        id: `id\u0000${'é'.repeat(500)}`,
        type: 't'.repeat(1_000),
        key: 'k\n',
        headers: { 'bad name': 'x', good: 'y', odd: 5 as never },
        occurredAt: 1,
        origin: {
          offset: 12345678901234567890n,
          queue: { deep: 1 },
          at: Number.NaN,
          topic: 'orders',
        } as never,
        payload: { order: 1 },
      }),
    })
    await call()
    const { letters } = await store.deadLetters.list()
    expect(letters).toMatchObject([
      { channel: 'orders', event: { channel: 'orders', headers: { good: 'y' }, payload: { order: 1 } } },
    ])
    expect(letters[0]?.origin).toEqual({ offset: '12345678901234567890', topic: 'orders' })
    await call()
    expect((await store.deadLetters.list()).letters).toHaveLength(1)
    await call.close()
    await store.close()
    await rm(dir, { recursive: true, force: true })
  })
})
