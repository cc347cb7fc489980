import { expect, it } from 'vitest'
import { memoryDeadLetters } from '../../adapters/memory/index.ts'
import { LetterError } from '../../core/dead-letter/errors.ts'
import { createFactory } from '../../testing/factories.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { LetterSaver } from './letter-saver.ts'

it('B17: a message whose stored letter is damaged is saved, and holds up no other message', async () => {
  const clock = new FakeClock()
  const store = memoryDeadLetters()
  const letter = createFactory({ clock }).letter()
  const get = store.get.bind(store)
  store.get = async id => {
    if ((await get(id)) === undefined) throw new LetterError('stored dead letter', [])
    return get(id)
  }
  const errors: unknown[] = []
  const saver = new LetterSaver({ name: 'shop', clock, onError: error => errors.push(error) }, store)
  const saving = saver.save(
    { letter, content: Buffer.from('{}'), mayBeKnown: true },
    () => errors.length === 0,
  )
  await clock.advance(1_000)
  expect(await saving).toBe(true)
  expect(await get(letter.id)).toMatchObject({ state: 'dead' })
  expect(errors).toEqual([])
})
