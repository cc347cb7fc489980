import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEFAULT_CONFIG } from '../../config/config.ts'
import type { ShopStore } from '../../demo/shop.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'
import { FailedError, type Io, UsageError } from '../io.ts'

/** The store of a demo. */
export interface DemoStore {
  readonly store: ShopStore
  readonly url: string
  /** Whether the store is kept after the demo. */
  readonly isKept: boolean
  /** Deletes a temporary store. */
  remove(): Promise<void>
}

/**
 * Opens a temporary file, unless a store is named. It ignores `$LAZARET_STORE`, because that names the store that people
 * work with, and demo data must not get into it.
 */
export async function openDemoStore(io: Io, url: string | undefined, clock: Clock): Promise<DemoStore> {
  if (url !== undefined) return openNamed(io, url, clock)
  const folder = await mkdtemp(join(tmpdir(), 'lazaret-demo-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  const own = `sqlite:${join(folder, 'shop.db')}`
  try {
    return { store: (await open(io, own, clock)) as ShopStore, url: own, isKept: false, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

async function openNamed(io: Io, url: string, clock: Clock): Promise<DemoStore> {
  const store = await open(io, url, clock)
  try {
    if (store.broker === undefined || store.ledger === undefined)
      throw new UsageError(`the store ${url} cannot deliver events; use a new sqlite:FILE, or memory:`)
    const { count } = await store.deadLetters.stats()
    // The demo creates fake customers and letters, which must not mix with real ones.
    if (count > 0)
      throw new FailedError(
        `the store ${url} already holds ${count} letters; use a new store, or omit --store`,
      )
    return { store: store as ShopStore, url, isKept: url !== 'memory:', remove: async () => {} }
  } catch (error) {
    await store.close()
    throw error
  }
}

function open(io: Io, url: string, clock: Clock): Promise<Store> {
  return io.openStore(url, { folder: io.cwd, config: DEFAULT_CONFIG, creates: 'if-missing', clock })
}
