import type { Config } from '../config/config.ts'
import { type LoadedConfig, loadConfig } from '../config/load.ts'
import type { Masks } from '../core/dead-letter/masks.ts'
import type { Store } from '../ports/store.ts'
import type { ExitCode, Io } from './io.ts'

const DEFAULT_STORE = 'sqlite:./lazaret.db'

/** What every command on a store works with. */
export interface Session {
  readonly io: Io
  readonly store: Store
  readonly config: Config
  readonly masks: Masks
  /** Who is at work, for the audit. */
  readonly by: string
}

interface SessionFlags {
  readonly store?: string | undefined
  readonly config?: string | undefined
  readonly by?: string | undefined
}

/** Where the store is: what was typed counts before the environment, and that before the config. */
export function chooseStore(
  typed: string | undefined,
  io: Io,
  { config, folder }: LoadedConfig,
): { readonly url: string; readonly folder: string } {
  const url = typed ?? (io.env['LAZARET_STORE'] || undefined)
  if (url !== undefined) return { url, folder: io.cwd }
  return config.store === undefined ? { url: DEFAULT_STORE, folder: io.cwd } : { url: config.store, folder }
}

/** Opens the store, does the work and closes it, however the work ends. */
export async function withStore(
  io: Io,
  flags: SessionFlags,
  work: (session: Session) => Promise<ExitCode>,
  creates: 'never' | 'if-missing' = 'never',
): Promise<ExitCode> {
  const loaded = await loadConfig({ file: flags.config, cwd: io.cwd, env: io.env })
  const { config } = loaded
  const { url, folder } = chooseStore(flags.store, io, loaded)
  const store = await io.openStore(url, { folder, config, creates, clock: io.clock })
  try {
    return await work({ io, store, config, masks: config.masks, by: flags.by ?? io.user })
  } finally {
    await store.close()
  }
}
