import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fileStore } from '../src/adapters/file/index.ts'
import { openSqlite } from '../src/adapters/sqlite/index.ts'
import type { Codec } from '../src/ports/codec.ts'
import type { Store } from '../src/ports/store.ts'
import {
  auditSecrets,
  commandWithSecrets,
  fillWithSecrets,
  reportWithSecrets,
  retryWithSecrets,
  SEALING,
  SECRETS,
} from './support/sealed-at-rest.ts'

const STORES: Record<string, (dir: string, codec?: Codec) => Store> = {
  sqlite: (dir, codec) => openSqlite({ path: join(dir, 'a.db'), codec }),
  file: (dir, codec) => fileStore({ dir, codec }),
}

function bytesIn(dir: string): string {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n')
}

describe('a sealed store', () => {
  for (const [name, open] of Object.entries(STORES)) {
    it(`B13: ${name} has no text of a payload, key, error, patch or search in any file`, async () => {
      const dir = await mkdtemp(join(tmpdir(), 'lazaret-sealed-'))
      try {
        const store = open(dir, SEALING)
        await fillWithSecrets(store)
        await auditSecrets(store)
        await commandWithSecrets(store)
        await reportWithSecrets(store)
        if (store.broker !== undefined) await retryWithSecrets(store.broker)
        expect(bytesIn(dir)).not.toMatch(SECRETS)
        await store.close()
        expect(bytesIn(dir)).not.toMatch(SECRETS)
      } finally {
        await rm(dir, { recursive: true, force: true })
      }
    })

    it(`K9: ${name} reads unencrypted records from before sealing was turned on`, async () => {
      const dir = await mkdtemp(join(tmpdir(), 'lazaret-sealed-'))
      try {
        const before = open(dir)
        await fillWithSecrets(before)
        await auditSecrets(before)
        const [letter] = (await before.deadLetters.list()).letters
        await before.close()
        const sealed = open(dir, SEALING)
        expect(await sealed.deadLetters.get(letter!.id)).toEqual(letter)
        expect((await sealed.groups.list()).groups[0]?.title).toContain('hunter2')
        expect((await sealed.replays.list()).flatMap(({ patch }) => patch ?? [])).toMatchObject([
          { value: 'new-secret' },
          { value: { deep: ['new-secret'] } },
        ])
        const [searched] = (await sealed.audit.list({ action: 'letters.search' })).entries
        expect(searched?.detail).toEqual({ search: 'hunter2', letters: 1 })
        await sealed.close()
      } finally {
        await rm(dir, { recursive: true, force: true })
      }
    })
  }
})
