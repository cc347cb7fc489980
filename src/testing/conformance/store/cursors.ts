import assert from 'node:assert/strict'
import { encodeCursor, type Listing } from '../../../adapter-kit/query/cursor.ts'
import { resolveLetterFilter } from '../../../adapter-kit/query/letter-query.ts'
import { OptionsError } from '../../../core/options/faults.ts'
import type { Store } from '../../../ports/store.ts'
import { inStoreWorld, type StoreConformance, type StoreWorld } from './suite.ts'

/** Every listing with cursors, by name. */
const LISTINGS: Readonly<
  Record<string, (store: Store, cursor?: string) => Promise<{ readonly cursor: string | undefined }>>
> = {
  letters: ({ deadLetters }, cursor) => deadLetters.list({ limit: 1, cursor }),
  'letters of a channel': ({ deadLetters }, cursor) =>
    deadLetters.list({ channel: 'orders', limit: 1, cursor }),
  groups: ({ groups }, cursor) => groups.list({ limit: 1, cursor }),
  audit: ({ audit }, cursor) => audit.list({ limit: 1, cursor }),
}

/** Invalid cursors. No listing returned any of them. */
const FORGED: readonly string[] = [
  'x',
  ' ',
  '\u0000',
  '0x1',
  '-1',
  '1.5',
  '99',
  '999999999999999',
  '9'.repeat(400),
  '1'.repeat(20_000),
  '99999999999999999999-99999999999999999999',
  '1e999_x_00000000',
  '1e999_x',
  '..._x',
  '-_x',
  '1_\u0000',
  '1_\ud800',
  '0_99999999999999999999999',
  '[object Object]',
  '{"at":1}',
  "'; drop table dead_letters; --",
]

/** The mark that each listing puts on its cursors. A caller who knows it can forge a cursor with a valid mark. */
const MARKS: Readonly<Record<string, Listing>> = {
  letters: { name: 'letters', filter: resolveLetterFilter({}) },
  groups: { name: 'groups', filter: [undefined, undefined, undefined] },
  audit: { name: 'audit', filter: [undefined, undefined, undefined] },
}
const FORGED_PLACES: readonly string[] = [
  ...FORGED.filter(({ length }) => length < 1_000),
  '0_0',
  '0-0',
  '0-1',
  '18446744073709551615-18446744073709551615',
  '1e308_x',
  '-1e308_x',
  '0.5_x',
  '999999999999999_999999999999999',
]

async function fill(world: StoreWorld): Promise<void> {
  for (const [index, name] of ['one', 'two', 'three'].entries()) {
    const error = Object.assign(new Error(name), { name: `Error${name}` })
    await world.send(world.failedAt(1_000 + index, error))
    await world.store.audit.append({ at: 1_000 + index, by: 'ada', action: 'letter.discard', target: name })
  }
}

async function requireRefused(store: Store, listing: string, cursor: string): Promise<void> {
  const shown = `${listing}: ${JSON.stringify(cursor).slice(0, 60)}`
  const answer = LISTINGS[listing]!(store, cursor)
  await assert.rejects(answer, (error: unknown) => {
    assert(error instanceof OptionsError, `${shown} is refused as a wrong option, not with: ${error}`)
    assert.match(error.message, /query\.cursor: .*give the cursor/, shown)
    assert(error.message.length < 1_000, `${shown}: the message is short`)
    return true
  })
}

/** Every store refuses a cursor that no listing returned, with a remedy. */
export function cursorTests(suite: StoreConformance): void {
  const it = inStoreWorld(suite)

  it('E9: every listing refuses a forged cursor with a remedy', async world => {
    await fill(world)
    for (const listing of Object.keys(LISTINGS))
      for (const cursor of FORGED) await requireRefused(world.store, listing, cursor)
  })

  it('E9: a cursor of another listing, or a part of one, is refused', async world => {
    await fill(world)
    const cursors = new Map<string, string>()
    for (const [listing, list] of Object.entries(LISTINGS)) {
      const { cursor } = await list(world.store)
      assert(cursor !== undefined, `${listing} has more than one page`)
      cursors.set(listing, cursor)
    }
    for (const [listing, own] of cursors) {
      for (const other of cursors.values())
        if (other !== own) await requireRefused(world.store, listing, other)
      for (const part of [
        own.slice(0, -1),
        own.slice(1),
        `${own}0`,
        ` ${own}`,
        own.slice(0, own.length >> 1),
      ])
        await requireRefused(world.store, listing, part)
      await LISTINGS[listing]!(world.store, own)
    }
  })

  it('E9: a forged position with a valid mark is refused or answered, without any other error', async world => {
    await fill(world)
    for (const [listing, mark] of Object.entries(MARKS)) {
      const { cursor: own = '' } = await LISTINGS[listing]!(world.store)
      const ownPlace = own.slice(0, own.lastIndexOf('_'))
      assert.equal(encodeCursor(mark, ownPlace), own, `the mark of ${listing} is that of its own cursors`)
      for (const place of FORGED_PLACES) {
        const cursor = encodeCursor(mark, place)
        try {
          await LISTINGS[listing]!(world.store, cursor)
        } catch (error) {
          assert(error instanceof OptionsError, `${listing}: ${JSON.stringify(place)} fails with: ${error}`)
        }
      }
    }
  })
}
