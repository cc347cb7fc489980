import { type QueueStatus, withAdmin } from '../../adapters/rabbitmq/admin.ts'
import type { Context } from '../command.ts'
import type { rabbitmqFlags } from '../flags/rabbitmq.ts'
import type { ExitCode, Io } from '../io.ts'
import { jsonLine } from '../print/json.ts'
import { safeText } from '../print/safe-text.ts'
import { paintFor } from '../print/style.ts'
import { type Column, Table } from '../print/table.ts'
import { isoAndRelative } from '../print/times.ts'

/** A person waits for the answer. */
export const PATIENCE_MS = 5_000

export function rabbitmqStatus({ io, flags, args }: Context<typeof rabbitmqFlags>): Promise<ExitCode> {
  const options = { url: serverUrl(io, flags.url), connectTimeoutMs: PATIENCE_MS, clock: io.clock }
  return withAdmin(options, async admin => {
    const all: QueueStatus[] = []
    for (const queue of args) all.push(await admin.status(queue))
    if (flags.json) for (const status of all) await io.stdout.write(jsonLine(outside(status)))
    else {
      const table = new Table(columns(io.clock.now()), paintFor(io.stdout, io.env), io.stdout.columns)
      await io.stdout.write(table.page(all))
    }
    const missing = all.filter(({ ready }) => ready === undefined)
    for (const { queue } of missing)
      await io.stderr.write(
        `${safeText(queue)}: there is no such queue; make it with: lazaret rabbitmq declare ${safeText(queue)}\n`,
      )
    return missing.length === 0 ? 0 : missing.length === all.length ? 1 : 3
  })
}

/** A password on the command line is seen by everyone on the machine, so the environment is asked too. */
export function serverUrl(io: Io, given: string | undefined): string {
  return given ?? io.env['LAZARET_AMQP_URL'] ?? 'amqp://localhost'
}

function outside({ oldestLetterAt, ready, ...status }: QueueStatus) {
  const at = oldestLetterAt === undefined ? null : new Date(oldestLetterAt).toISOString()
  return { ...status, exists: ready !== undefined, ready: ready ?? 0, oldestLetterAt: at }
}

function columns(now: number): readonly Column<QueueStatus>[] {
  return [
    { title: 'QUEUE', cell: ({ queue }) => safeText(queue), shrinksTo: 12 },
    { title: 'READY', cell: ({ ready }) => (ready === undefined ? 'not there' : String(ready)) },
    { title: 'CONSUMERS', cell: ({ consumers }) => String(consumers) },
    { title: 'WAITING', cell: ({ waiting }) => String(waiting) },
    { title: 'SUSPECTS', cell: ({ suspects }) => String(suspects), dropAt: 2 },
    { title: 'DEAD', cell: ({ deadLetters }) => String(deadLetters) },
    { title: 'QUARANTINED', cell: ({ quarantined }) => String(quarantined) },
    {
      title: 'OLDEST LETTER',
      cell: ({ oldestLetterAt }) => (oldestLetterAt === undefined ? '' : isoAndRelative(oldestLetterAt, now)),
      dropAt: 1,
    },
  ]
}
