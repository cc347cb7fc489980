import type { Config } from '../config/config.ts'
import { type LoadedConfig, loadConfig } from '../config/load.ts'
import { createMasks, type Masks } from '../core/dead-letter/masks.ts'
import type { AuditEntry } from '../ports/audit.ts'
import type { Store } from '../ports/store.ts'
import type { Context } from './command.ts'
import type { Flags } from './flag.ts'
import { type ExitCode, type Io, UsageError } from './io.ts'

const DEFAULT_STORE = 'sqlite:./lazaret.db'

/** The shared parts of all commands that use a store. */
export interface Session {
  readonly io: Io
  readonly store: Store
  readonly config: Config
  readonly masks: Masks
  /** The name for the audit log. */
  readonly by: string
}

/** A type alias and not an interface, so that TypeScript can inline it in the declarations of commands. */
type SessionFlags = {
  readonly store?: string | undefined
  readonly config?: string | undefined
  readonly by?: string | undefined
}

/** Chooses the store: the flag before the environment, the environment before the config. */
export function chooseStore(
  typed: string | undefined,
  io: Io,
  { config, folder }: LoadedConfig,
): { readonly url: string; readonly folder: string; readonly isDefault: boolean } {
  const url = typed ?? (io.env['LAZARET_STORE'] || undefined)
  if (url !== undefined) return { url, folder: io.cwd, isDefault: false }
  if (config.store !== undefined) return { url: config.store, folder, isDefault: false }
  return { url: DEFAULT_STORE, folder: io.cwd, isDefault: true }
}

/** Opens the store, runs the work, and always closes the store. */
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

/** Hides nothing. */
export const NO_MASKS = createMasks({ defaults: false })

/** Records a reveal before anything is shown, so that an interrupted command is recorded too. */
export async function auditReveal(
  { store, io, by }: Session,
  what: Pick<AuditEntry, 'target' | 'detail'>,
): Promise<void> {
  await store.audit.append({ at: io.clock.now(), by, action: 'payload.reveal', ...what })
}

/** Asks on a terminal. Without a terminal nobody can answer, so the command needs --yes. */
export async function confirm(io: Io, question: string, isConfirmed: boolean | undefined): Promise<boolean> {
  if (isConfirmed === true) return true
  if (!io.stdin.isTerminal || !io.stderr.isTerminal)
    throw new UsageError(`${question} Confirm with --yes, because this is not a terminal`)
  const answer = await io.ask(`${question} [y/N] `)
  return answer !== undefined && /^y(?:es)?$/i.test(answer.trim())
}

/** A command that uses an existing store. Its work may return an exit code [0]. */
export function onStore<F extends Flags>(
  work: (session: Session, context: Context<F>) => Promise<ExitCode> | Promise<void>,
) {
  return (context: Context<F> & { readonly flags: SessionFlags }): Promise<ExitCode> =>
    withStore(context.io, context.flags, async session => (await work(session, context)) ?? 0)
}
