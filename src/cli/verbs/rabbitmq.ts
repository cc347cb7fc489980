import { type QueueStatus, withAdmin } from '../../adapters/rabbitmq/admin.ts'
import type { Context } from '../command.ts'
import type { declareFlags, rabbitmqFlags } from '../flags.ts'
import type { ExitCode, Io } from '../io.ts'
import { jsonLine } from '../print/json.ts'
import { safeText } from '../print/safe-text.ts'
import { type Column, tableOn } from '../print/table.ts'
import { isoAndRelative } from '../print/times.ts'
import { serverUrl } from '../server-url.ts'

/** Declares each queue and reports each result, because one failure says nothing about the other queues. */
export async function rabbitmqDeclare({ io, flags, args }: Context<typeof declareFlags>): Promise<ExitCode> {
  const options = {
    url: await serverUrlOf(io, flags),
    queueType: flags['queue-type'],
    deadLetterQueue: flags['dead-letter-queue'],
    deadLetterQueues: flags['dead-letter-queues'],
    deadLetterTtlMs: flags['dead-letter-ttl'],
    maxLength: flags['max-length'],
    deadLetterMaxLength: flags['dead-letter-max-length'],
    connectTimeoutMs: TIMEOUT_MS,
    clock: io.clock,
  }
  return withAdmin(options, async admin => {
    let failed = 0
    for (const queue of args) {
      try {
        const declared = await admin.declare(queue, flags.channel ?? queue, flags.ordered === true)
        await printResult(io, flags.json, { queue, declared })
      } catch (error) {
        failed++
        await printResult(io, flags.json, { queue, problem: (error as Error).message })
      }
    }
    return failed === 0 ? 0 : failed === args.length ? 1 : 3
  })
}

interface DeclareResult {
  readonly queue: string
  readonly declared?: readonly string[]
  readonly problem?: string
}

async function printResult(io: Io, asJson: boolean | undefined, result: DeclareResult): Promise<void> {
  if (asJson) await io.stdout.write(jsonLine(result))
  else if (result.problem !== undefined) await io.stderr.write(`${safeText(result.problem)}\n`)
  else await io.stdout.write(`${safeText(result.queue)}: ${result.declared?.length} queues declared\n`)
}

/** Short, because a person waits for the answer. */
export const TIMEOUT_MS = 5_000

export async function rabbitmqStatus({ io, flags, args }: Context<typeof rabbitmqFlags>): Promise<ExitCode> {
  const options = {
    url: await serverUrlOf(io, flags),
    deadLetterQueue: flags['dead-letter-queue'],
    connectTimeoutMs: TIMEOUT_MS,
    clock: io.clock,
  }
  return withAdmin(options, async admin => {
    const all: QueueStatus[] = []
    for (const queue of args) all.push(await admin.status(queue))
    if (flags.json) for (const status of all) await io.stdout.write(jsonLine(statusJson(status)))
    else {
      const table = tableOn(io, columns(io.clock.now()))
      await io.stdout.write(table.page(all))
    }
    const missing = all.filter(({ ready }) => ready === undefined)
    for (const { queue } of missing)
      await io.stderr.write(
        `${safeText(queue)}: queue not found; create it with: lazaret rabbitmq declare ${safeText(queue)}\n`,
      )
    return missing.length === 0 ? 0 : missing.length === all.length ? 1 : 3
  })
}

function serverUrlOf(
  io: Io,
  flags: { readonly url?: string | undefined; readonly config?: string | undefined },
) {
  return serverUrl(io, flags, {
    type: 'rabbitmq',
    variable: 'LAZARET_AMQP_URL',
    fallback: 'amqp://localhost',
  })
}

function statusJson({ oldestLetterAt, ready, ...status }: QueueStatus) {
  const at = oldestLetterAt === undefined ? null : new Date(oldestLetterAt).toISOString()
  return { ...status, exists: ready !== undefined, ready: ready ?? 0, oldestLetterAt: at }
}

function columns(now: number): readonly Column<QueueStatus>[] {
  return [
    { title: 'QUEUE', cell: ({ queue }) => safeText(queue), shrinksTo: 12 },
    { title: 'READY', cell: ({ ready }) => (ready === undefined ? 'missing' : String(ready)) },
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
