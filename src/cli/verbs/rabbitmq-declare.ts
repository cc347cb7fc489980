import { withAdmin } from '../../adapters/rabbitmq/admin.ts'
import type { Context } from '../command.ts'
import type { declareFlags } from '../flags/rabbitmq.ts'
import type { ExitCode, Io } from '../io.ts'
import { jsonLine } from '../print/json.ts'
import { safeText } from '../print/safe-text.ts'
import { PATIENCE_MS, serverUrl } from './rabbitmq-status.ts'

/** One queue that cannot be declared says nothing about the others: each is tried, each is told of. */
export function rabbitmqDeclare({ io, flags, args }: Context<typeof declareFlags>): Promise<ExitCode> {
  const options = {
    url: serverUrl(io, flags.url),
    queueType: flags['queue-type'],
    deadLetterTtlMs: flags['dead-letter-ttl'],
    maxLength: flags['max-length'],
    deadLetterMaxLength: flags['dead-letter-max-length'],
    connectTimeoutMs: PATIENCE_MS,
    clock: io.clock,
  }
  return withAdmin(options, async admin => {
    let failed = 0
    for (const queue of args) {
      try {
        const declared = await admin.declare(queue, flags.channel ?? queue, flags.ordered === true)
        await tell(io, flags.json, { queue, declared })
      } catch (error) {
        failed++
        await tell(io, flags.json, { queue, problem: (error as Error).message })
      }
    }
    return failed === 0 ? 0 : failed === args.length ? 1 : 3
  })
}

interface Told {
  readonly queue: string
  readonly declared?: readonly string[]
  readonly problem?: string
}

async function tell(io: Io, asJson: boolean | undefined, told: Told): Promise<void> {
  if (asJson) await io.stdout.write(jsonLine(told))
  else if (told.problem !== undefined) await io.stderr.write(`${safeText(told.problem)}\n`)
  else await io.stdout.write(`${safeText(told.queue)}: ${told.declared?.length} queues are there\n`)
}
