import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../adapters/memory/store.ts'
import { DEFAULT_MASKS } from '../../core/dead-letter/masks.ts'
import { createFactory } from '../../testing/factories.ts'
import { maskedOutcome } from './command-result.ts'

const COUNTS = { valid: 0, invalid: 1, unknown: 0 }

async function masked(result: unknown) {
  const store = memoryStore()
  const make = createFactory()
  const letter = make.letter({ event: make.event({ payload: { password: 'hunter2' } }) })
  await store.deadLetters.send(letter)
  const outcome = { ok: true, result } as const
  const shown = await maskedOutcome(outcome, { kind: 'validate' }, store, DEFAULT_MASKS)
  return { shown: shown.ok ? shown.result : shown, id: letter.id }
}

describe('the result of a validation, as it is shown', () => {
  it('B17: has nothing beside the known fields, because only those are masked', async () => {
    const { id } = await masked(undefined)
    const letters = [{ id, validity: 'invalid', reason: 'hunter2 is short', value: 'hunter2' }]
    const { shown } = await masked({ ...COUNTS, letters, payloads: ['hunter2'] })
    expect(JSON.stringify(shown)).not.toContain('hunter2')
    expect(shown).toMatchObject({ ...COUNTS, letters: [{ validity: 'invalid' }] })
  })

  it('B17: says that a process does not find a letter', async () => {
    const letters = [{ id: 'nope', validity: 'unknown', reason: 'it is not in the store of this process' }]
    expect((await masked({ ...COUNTS, letters })).shown).toEqual({ ...COUNTS, letters })
  })

  it.each([undefined, null, 'done', {}, { letters: 'none' }, { letters: [null] }, { letters: [{ id: 1 }] }])(
    'B17: is left out in a form of another version: %j',
    async result => {
      expect((await masked(result)).shown).toBeUndefined()
    },
  )
})
