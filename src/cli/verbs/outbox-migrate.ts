import { withOutboxAdmin } from '../../adapters/postgres/operating/admin.ts'
import { printMigrations } from '../../adapters/postgres/schema/migrations.ts'
import { loadConfig } from '../../config/load.ts'
import { withoutCredentials } from '../../core/options/show.ts'
import type { Context } from '../command.ts'
import type { migrateFlags } from '../flags/outbox.ts'
import { type ExitCode, type Io, UsageError } from '../io.ts'
import { readStoreUrl } from '../open-store.ts'
import { jsonLine } from '../print/json.ts'
import { chooseStore } from '../session.ts'

export async function outboxMigrate({ io, flags }: Context<typeof migrateFlags>): Promise<ExitCode> {
  if (flags.print) {
    await io.stdout.write(printMigrations())
    return 0
  }
  const url = await outboxUrl(io, flags)
  return withOutboxAdmin<ExitCode>(url, async admin => {
    const steps = await admin.migrate()
    const { version } = admin
    if (flags.json) await io.stdout.write(jsonLine({ version, applied: steps.map(step => step.version) }))
    else {
      for (const step of steps) await io.stdout.write(`${step.version}  ${step.name}\n`)
      const how = steps.length === 0 ? 'was up to date already' : 'is up to date'
      await io.stderr.write(`schema lazaret ${how}, version ${version}\n`)
    }
    return 0
  })
}

/** The store, which has to be one that can have an outbox. */
export async function outboxUrl(
  io: Io,
  flags: { readonly store?: string | undefined; readonly config?: string | undefined },
): Promise<string> {
  const loaded = await loadConfig({ file: flags.config, cwd: io.cwd, env: io.env })
  const { url, folder } = chooseStore(flags.store, io, loaded)
  if (readStoreUrl(url, folder).kind === 'postgres') return url
  throw new UsageError(
    `the store ${withoutCredentials(url)} has no outbox; give one with --store postgres://HOST/DATABASE`,
  )
}
