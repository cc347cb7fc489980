import fc from 'fast-check'
import { expect } from 'vitest'
import { encodeLetter } from '../../src/core/dead-letter/json.ts'
import type { Store } from '../../src/ports/store.ts'
import { planReplay } from '../../src/replay/plan.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { type cases, damagedJson, hostileText } from './arbitraries.ts'
import { readsOrRefusesLater } from './reads-or-refuses.ts'

/** A store whose rows a test can change as another program would. */
export interface ChangeableStore {
  readonly store: Store
  /** Puts a text in the place of the letter with this id. */
  changeLetter(id: string, text: string): Promise<void>
  changeReplay(id: string, text: string): Promise<void>
}

const make = createFactory({ clock: new FakeClock() })
const isStorable = (text: string) => text.isWellFormed() && !text.includes('\0')
const textFor = (valid: string) =>
  fc
    .oneof(
      hostileText,
      damagedJson(JSON.parse(valid)).map(value => JSON.stringify(value) ?? 'null'),
    )
    .filter(isStorable)

/**
 * Letters whose rows were changed hide no other letter: not in a list, whatever its page, and not from a consumer that sends the letter
 * again.
 */
export async function changedLettersHideNobody(
  { store, changeLetter }: ChangeableStore,
  runs: ReturnType<typeof cases>,
): Promise<void> {
  const { deadLetters } = store
  const letters = Array.from({ length: 5 }, () => make.letter())
  for (const letter of letters) await deadLetters.send(letter)
  const changed = letters[2]!
  await fc.assert(
    fc.asyncProperty(textFor(encodeLetter(changed)), fc.integer({ min: 1, max: 3 }), async (text, limit) => {
      await changeLetter(changed.id, text)
      const seen: string[] = []
      for (let cursor: string | undefined; ; ) {
        const page = await deadLetters.list({ limit, cursor })
        seen.push(...page.letters.map(({ id }) => id))
        cursor = page.cursor
        if (cursor === undefined) break
      }
      for (const { id } of letters) if (id !== changed.id) expect(seen, text).toContain(id)
      await readsOrRefusesLater(() => deadLetters.get(changed.id))
      await deadLetters.send(changed)
      expect((await deadLetters.get(changed.id))?.id, text).toBe(changed.id)
    }),
    runs,
  )
}

/** When many rows in a row are changed, the letters behind them are found. */
export async function manyChangedLettersHideNobody({ store, changeLetter }: ChangeableStore): Promise<void> {
  const { deadLetters } = store
  const channel = 'many-changed'
  const letters = Array.from({ length: 8 }, () => make.letter({ event: make.event({ channel }) }))
  for (const letter of letters) await deadLetters.send(letter)
  const listed = (await deadLetters.list({ channel })).letters
  for (const { id } of listed.slice(1, -1)) await changeLetter(id, '{')
  const first = await deadLetters.list({ channel, limit: 1 })
  const second = await deadLetters.list({ channel, limit: 1, cursor: first.cursor })
  expect([first, second].flatMap(page => page.letters.map(({ id }) => id))).toEqual([
    listed[0]!.id,
    listed.at(-1)!.id,
  ])
  expect(second.cursor).toBeUndefined()
}

/** A replay whose row was changed hides no other. */
export async function changedReplaysHideNobody(
  { store, changeReplay }: ChangeableStore,
  runs: ReturnType<typeof cases>,
): Promise<void> {
  const clock = new FakeClock()
  const letter = make.letter()
  await store.deadLetters.send(letter)
  const plan = (id: string) =>
    planReplay(store, { by: 'ann', reason: 'x', ids: [letter.id] }, { clock, newId: () => id })
  const [changed, kept] = [await plan('changed'), await plan('kept')]
  await fc.assert(
    fc.asyncProperty(textFor(JSON.stringify(changed)), async text => {
      await changeReplay(changed.id, text)
      expect((await store.replays.list()).map(({ id }) => id)).toContain(kept.id)
    }),
    runs,
  )
}
