import { join } from 'node:path'
import type { Store } from 'lazaret'
import { fileStore } from 'lazaret/file'
import { openSqlite } from 'lazaret/sqlite'
import { createFactory } from 'lazaret/testing'
import { systemClock } from '../../src/ports/clock.ts'
import { fillStore } from '../stored-formats/content.ts'
import { asJson, readStore } from '../stored-formats/stored-format.ts'

/** The value of a masked field. Who may not reveal payloads must never see it. */
export const SECRET = 'hunter2-kept-from-viewers'

const MOST_COMMANDS = 1_000

/** The stores of the attacked server: one that a fleet shares, and one of files. */
export const STORES = {
  shop: { url: (folder: string) => `sqlite:${join(folder, 'shop.db')}`, open: openShop },
  mail: {
    url: (folder: string) => `file:${join(folder, 'mail')}`,
    open: (folder: string): Store => fileStore({ dir: join(folder, 'mail'), retentionMs: 'never' }),
  },
} as const

export function openShop(folder: string) {
  return openSqlite({ path: join(folder, 'shop.db') })
}

/** Fills both stores with letters in every state, groups with triage, replays and audit entries. */
export async function fillStores(folder: string): Promise<void> {
  for (const { open } of Object.values(STORES)) {
    const store = open(folder)
    await fillStore(store)
    const make = createFactory({ clock: systemClock })
    for (const total of [1, 2, 3]) {
      const event = make.event({ channel: 'orders', payload: { total, password: SECRET } })
      await store.deadLetters.send(make.letter({ event, handler: 'bill' }))
    }
    await store.close()
  }
}

/** Everything that a person could have changed, by store. No server may have the stores open. */
export async function readStores(folder: string): Promise<Readonly<Record<string, unknown>>> {
  const contents: Record<string, unknown> = {}
  for (const [name, { open }] of Object.entries(STORES)) {
    const store = open(folder)
    // The server itself takes snapshots.
    const { snapshots: _, ...content } = (await readStore(store)) as { readonly snapshots: unknown }
    contents[name] = { ...content, commands: asJson((await store.commands?.list(MOST_COMMANDS)) ?? []) }
    await store.close()
  }
  return contents
}

/** Real ids for requests, by the name that the path of the API has before them. */
export async function idsIn(folder: string): Promise<Readonly<Record<string, readonly string[]>>> {
  const ids: Record<string, string[]> = { 'dead-letters': [], groups: [], replays: [] }
  for (const { open } of Object.values(STORES)) {
    const store = open(folder)
    const { letters } = await store.deadLetters.list()
    ids['dead-letters']!.push(...letters.map(({ id }) => id))
    ids['groups']!.push(...(await store.groups.list()).groups.map(({ id }) => id))
    ids['replays']!.push(...(await store.replays.list()).map(({ id }) => id))
    await store.close()
  }
  return ids
}
